// SPDX-License-Identifier: GPL-2.0-or-later
import { useMemo } from 'preact/hooks'
import { FileBrowser } from '../files/browser'
import { sandboxFiles } from '../files/store'
import type { TabProps } from '../pages/sandbox'

export function SandboxFiles(props: TabProps) {
  const id = props.sandbox.id
  const store = useMemo(() => sandboxFiles(id), [id])
  return <FileBrowser store={store} mayWrite={props.mayWrite} />
}
