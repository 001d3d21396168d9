// SPDX-License-Identifier: GPL-2.0-or-later
import type { ComponentType, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button, Loading } from './basic'

/** A component whose script is loaded when it is first shown. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | null = null
  return function Lazy(props: P): JSX.Element {
    const [Component, setComponent] = useState<ComponentType<P> | null>(() => loaded)
    const [failed, setFailed] = useState(false)
    const start = (): void => {
      setFailed(false)
      load().then(
        component => {
          loaded = component
          setComponent(() => component)
        },
        () => setFailed(true),
      )
    }
    useEffect(() => {
      if (!Component) start()
    }, [])
    if (failed) {
      return (
        <div class="problem" role="alert">
          <p>This part of the console could not be loaded. The console may have been updated: load the page again.</p>
          <Button onClick={() => location.reload()}>Load again</Button>
        </div>
      )
    }
    return Component ? <Component {...props} /> : <Loading />
  }
}
