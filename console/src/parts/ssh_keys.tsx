// SPDX-License-Identifier: GPL-2.0-or-later
// Public keys that sign the user in over SSH.
import { useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { useIdempotencyKey } from '../lib/idempotency'
import { usePoll } from '../lib/poll'
import { ACTIONS, AreaField, Button, TextField, TimeCell } from './basic'
import { FormDialog } from './dialog'
import { ExpiryCell, KeyPassword } from './key_password'
import { called } from './revoke_key'
import { Rows } from './rows'

type SshKey = Schemas['SshKey']

function AddDialog(props: { onClose: () => void; onDone: () => void }) {
  const [line, setLine] = useState('')
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const keyOf = useIdempotencyKey()
  return (
    <FormDialog
      title="New SSH key"
      action="Add"
      onClose={props.onClose}
      submit={async () => {
        const body = { public_key: line.trim(), ...(name ? { name } : {}), ...(password ? { password } : {}) }
        await api.post('/v1/ssh_keys', { body, idempotencyKey: keyOf(body) })
        props.onDone()
        props.onClose()
      }}
    >
      <AreaField
        label="Public key"
        member="public_key"
        value={line}
        onInput={setLine}
        hint={
          <>
            The line of <code>~/.ssh/id_ed25519.pub</code>, not the private key.
          </>
        }
      />
      <TextField label="Name" member="name" value={name} onInput={setName} maxLength={64} hint="The computer that has the private key." />
      <KeyPassword value={password} onInput={setPassword} />
    </FormDialog>
  )
}

export const useSshKeys = () => usePoll(signal => api.get('/v1/ssh_keys', { signal }), 15_000, [])

export function SshKeys(props: {
  polled: ReturnType<typeof useSshKeys>
  creator: (key: SshKey) => string | null
  onRevoke: (key: SshKey) => void
}) {
  const { polled, creator } = props
  const [adding, setAdding] = useState(false)
  const keys = polled.data?.ssh_keys ?? []
  return (
    <section class="card" aria-label="SSH keys">
      <div class="card-head">
        <h2>SSH keys</h2>
        <Button small icon="plus" onClick={() => setAdding(true)}>
          New SSH key
        </Button>
      </div>
      <Rows
        of={polled}
        none="None. With an SSH key, you can enter and create sandboxes by ssh."
        label="SSH keys"
        head={['Name', 'Fingerprint', 'Created by', 'Last used', 'Expires', ACTIONS]}
      >
        {keys.map(key => (
          <tr key={key.id}>
            <th scope="row" class="long">{key.name || <span class="muted">without a name</span>}</th>
            <td>
              <code class="long">{key.fingerprint}</code>
            </td>
            <td class="long">{creator(key) ?? <span class="muted">no key</span>}</td>
            <TimeCell at={key.last_used_at} none="never" />
            <ExpiryCell of={key} />
            <td class="row-actions">
              <Button small label={`Revoke ${called(key)}`} onClick={() => props.onRevoke(key)}>
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
