// SPDX-License-Identifier: GPL-2.0-or-later
import type { ComponentType, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button, Loading } from './basic'

const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 15_000

/** A component whose script is loaded when it is first shown, and again until it comes: networks come and go. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | null = null
  return function Lazy(props: P): JSX.Element {
    const [Component, setComponent] = useState<ComponentType<P> | null>(() => loaded)
    const [failed, setFailed] = useState(false)
    useEffect(() => {
      if (Component) return
      let timer = 0
      let pause = FIRST_PAUSE_MS
      let ended = false
      const start = (): void => {
        window.clearTimeout(timer)
        load().then(
          component => {
            loaded = component
            if (!ended) setComponent(() => component)
          },
          () => {
            if (ended) return
            setFailed(true)
            timer = window.setTimeout(start, pause)
            pause = Math.min(LONGEST_PAUSE_MS, pause * 2)
          },
        )
      }
      start()
      window.addEventListener('online', start)
      return () => {
        ended = true
        window.clearTimeout(timer)
        window.removeEventListener('online', start)
      }
    }, [])
    if (Component) return <Component {...props} />
    if (!failed) return <Loading />
    return (
      <div class="problem" role="alert">
        <p>
          This part of the console could not be loaded. Check the connection; the page tries again by itself. If the
          console was updated meanwhile, load the page again.
        </p>
        <Button onClick={() => location.reload()}>Load again</Button>
      </div>
    )
  }
}
