// SPDX-License-Identifier: GPL-2.0-or-later
import { api, type Schemas } from '../lib/client'
import { stateWord } from '../lib/states'
import { Button, Empty, Problem } from '../parts/basic'
import { useAction } from '../parts/dialog'

/** Shows the state of a sandbox that does not run, and resumes a paused one. */
export function Resume(props: { sandbox: Schemas['Sandbox']; words: string }) {
  const { sandbox } = props
  const { busy, error, run } = useAction()
  const resume = (): void =>
    void run(async () => {
      await api.post('/v1/sandboxes/{id}/resume', { path: { id: sandbox.id }, body: {} })
    })
  const paused = sandbox.state === 'stopped'
  return (
    <Empty title={`The sandbox is ${stateWord(sandbox.state)}`}>
      {paused && <p>{props.words}</p>}
      <Problem error={error} />
      {paused && (
        <Button kind="primary" icon="play" busy={busy} onClick={resume}>
          Resume the sandbox
        </Button>
      )}
    </Empty>
  )
}
