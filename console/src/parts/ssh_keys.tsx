// SPDX-License-Identifier: GPL-2.0-or-later
// Public keys that sign the user in over SSH.
import { useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { usePoll } from '../lib/poll'
import { ACTIONS, AreaField, Button, TextField, TimeCell } from './basic'
import { FormDialog, ask, say } from './dialog'
import { Rows } from './rows'

type SshKey = Schemas['SshKey']

function AddDialog(props: { onClose: () => void; onDone: () => void }) {
  const [line, setLine] = useState('')
  const [name, setName] = useState('')
  return (
    <FormDialog
      title="New SSH key"
      action="Add"
      onClose={props.onClose}
      submit={async () => {
        await api.post('/v1/ssh_keys', { body: { public_key: line.trim(), ...(name ? { name } : {}) } })
        props.onDone()
        props.onClose()
      }}
    >
      <AreaField
        label="Public key"
        value={line}
        onInput={setLine}
        hint={
          <>
            The line of <code>~/.ssh/id_ed25519.pub</code>, not the private key.
          </>
        }
      />
      <TextField label="Name" value={name} onInput={setName} maxLength={64} hint="The computer that has the private key." />
    </FormDialog>
  )
}

function revoke(key: SshKey, refresh: () => void): void {
  ask(`Revoke ${key.name || key.fingerprint}?`, 'Its open shells end within a minute.', 'Revoke', async () => {
    await api.delete('/v1/ssh_keys/{id}', { path: { id: key.id } })
    say('The SSH key is revoked.')
    refresh()
  })
}

export function SshKeys() {
  const polled = usePoll(signal => api.get('/v1/ssh_keys', { signal }), 15_000, [])
  const [adding, setAdding] = useState(false)
  const keys = polled.data?.ssh_keys ?? []
  return (
    <section class="card" aria-label="SSH keys">
      <div class="card-head">
        <h2>SSH keys</h2>
        <Button small onClick={() => setAdding(true)}>
          New SSH key
        </Button>
      </div>
      <Rows
        of={polled}
        none="None. With an SSH key, you can enter and create sandboxes by ssh."
        label="SSH keys"
        head={['Name', 'Fingerprint', 'Last used', 'Expires', ACTIONS]}
      >
        {keys.map(key => (
          <tr key={key.id}>
            <th scope="row">{key.name || <span class="muted">without a name</span>}</th>
            <td>
              <code class="long">{key.fingerprint}</code>
            </td>
            <TimeCell at={key.last_used_at} none="never" />
            <TimeCell at={key.expires_at} none="never" />
            <td class="row-actions">
              <Button small label={`Revoke ${key.name || key.fingerprint}`} onClick={() => revoke(key, polled.refresh)}>
                Revoke
              </Button>
            </td>
          </tr>
        ))}
      </Rows>
      {adding && <AddDialog onClose={() => setAdding(false)} onDone={polled.refresh} />}
    </section>
  )
}
