// SPDX-License-Identifier: GPL-2.0-or-later
import { api, type Schemas } from '../lib/client'
import { formatBytes } from '../lib/format'
import { useTeamList } from '../lib/pages'
import { useMayWrite } from '../lib/session'
import { ACTIONS, Button, Empty, Named, Page, TimeCell } from '../parts/basic'
import { ask, say } from '../parts/dialog'
import { Rows } from '../parts/rows'

type Checkpoint = Schemas['Checkpoint']

function remove(checkpoint: Checkpoint, done: () => void): void {
  ask(`Delete the checkpoint ${checkpoint.name}?`, 'You can no longer start new sandboxes from it.', 'Delete', async () => {
    await api.delete('/v1/checkpoints/{id}', { path: { id: checkpoint.id } })
    say(`The checkpoint ${checkpoint.name} is deleted.`)
    done()
  })
}

function rollBack(checkpoint: Checkpoint): void {
  const question = `Roll the sandbox back to ${checkpoint.name}?`
  ask(question, 'This deletes its present files and processes. Its id, ports and network stay.', 'Roll back', async () => {
    const body = { checkpoint: checkpoint.id }
    const sandbox = await api.post('/v1/sandboxes/{id}/rollback', { path: { id: checkpoint.sandbox_id }, body })
    say(`The sandbox runs again from the ${sandbox.resumed_from} of ${checkpoint.name}.`)
  })
}

export function Checkpoints() {
  const mayWrite = useMayWrite()
  const list = useTeamList<Checkpoint>(async (query, signal) => {
    const answer = await api.get('/v1/checkpoints', { query, signal })
    return { rows: answer.checkpoints, next: answer.next_token }
  })
  return (
    <Page title="Checkpoints">
      <Rows
        of={list}
        none={
          <Empty title="No checkpoints yet">
            <p>A checkpoint keeps a sandbox's disk. Make one on the sandbox's own page; new sandboxes can start from it.</p>
            <a class="btn" href="/sandboxes">
              Go to the sandboxes
            </a>
          </Empty>
        }
        label="Checkpoints"
        dense
        head={['Checkpoint', 'Sandbox', 'Template', 'Size', 'Created', ACTIONS]}
      >
        {list.rows.map(checkpoint => (
          <tr key={checkpoint.id}>
            <th scope="row">
              <Named name={checkpoint.name} id={checkpoint.id} />
            </th>
            <td>
              <Named name={checkpoint.sandbox_name} id={checkpoint.sandbox_id} href={`/sandboxes/${checkpoint.sandbox_id}`} />
            </td>
            <td class="long">{checkpoint.template}</td>
            <td class="number nowrap">{formatBytes(checkpoint.size_mb * 1048576)}</td>
            <TimeCell at={checkpoint.created_at} />
            <td class="row-actions">
              {mayWrite && (
                <>
                  <a class="btn small" href={`/sandboxes/new?from=${checkpoint.id}`} aria-label={`New sandbox from ${checkpoint.name}`}>
                    New sandbox
                  </a>
                  <Button small label={`Roll its sandbox back to ${checkpoint.name}`} onClick={() => rollBack(checkpoint)}>
                    Roll back
                  </Button>
                  <Button small label={`Delete ${checkpoint.name}`} onClick={() => remove(checkpoint, () => list.remove(checkpoint.id))}>
                    Delete
                  </Button>
                </>
              )}
            </td>
          </tr>
        ))}
      </Rows>
    </Page>
  )
}
