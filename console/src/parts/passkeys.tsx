// SPDX-License-Identifier: GPL-2.0-or-later
// The user's passkeys, with which the user signs in without a password.
import { useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { addPasskey, hasPasskeys } from '../lib/passkeys'
import { usePoll } from '../lib/poll'
import { useMe } from '../lib/session'
import { ACTIONS, Button, TextField, TimeCell, UserName } from './basic'
import { FormDialog, say } from './dialog'
import { Rows } from './rows'

type Passkey = Schemas['Passkey']
/** The open dialog: for a new passkey, or for an existing one. */
type Open = { verb: 'add' } | { verb: 'rename' | 'remove'; passkey: Passkey }

const TITLES = { add: 'New passkey', rename: 'Rename the passkey', remove: 'Remove the passkey?' }
const ACTION_NAMES = { add: 'Create', rename: 'Rename', remove: 'Remove' }
const SAYINGS = { add: 'The passkey is added.', rename: 'The passkey has a new name.', remove: 'The passkey is removed.' }

function PasskeyDialog(props: { open: Open; onClose: () => void; onDone: () => void }) {
  const { open } = props
  const { user } = useMe()
  const [name, setName] = useState(open.verb === 'add' ? '' : open.passkey.name)
  const [password, setPassword] = useState('')
  const change = async (): Promise<void> => {
    if (open.verb === 'add') return addPasskey(name, password)
    const path = { id: open.passkey.id }
    if (open.verb === 'rename') await api.patch('/v1/me/passkeys/{id}', { path, body: { name } })
    else await api.delete('/v1/me/passkeys/{id}', { path, body: { password } })
  }
  return (
    <FormDialog
      title={TITLES[open.verb]}
      action={ACTION_NAMES[open.verb]}
      danger={open.verb === 'remove'}
      onClose={props.onClose}
      submit={async () => {
        await change()
        say(SAYINGS[open.verb])
        props.onDone()
        props.onClose()
      }}
    >
      {open.verb === 'remove' ? (
        <p>You can no longer sign in with “{open.passkey.name}”. Then delete the passkey on your device, too.</p>
      ) : (
        <TextField
          label="Name"
          member="name"
          value={name}
          onInput={setName}
          maxLength={64}
          required
          autoFocus
          hint="The device or the program that has the passkey."
        />
      )}
      {open.verb !== 'rename' && (
        <>
          <UserName value={user.name} />
          <TextField
            label="Password"
            member="password"
            type="password"
            required
            autoFocus={open.verb === 'remove'}
            autoComplete="current-password"
            value={password}
            onInput={setPassword}
          />
        </>
      )}
    </FormDialog>
  )
}

export function Passkeys() {
  const polled = usePoll(async signal => (await api.get('/v1/me/passkeys', { signal })).items, 20_000, [])
  const [open, setOpen] = useState<Open | null>(null)
  if (!hasPasskeys && !polled.data?.length) return null
  return (
    <section class="card" aria-label="Passkeys">
      <div class="card-head">
        <h2>Passkeys</h2>
        {hasPasskeys && (
          <Button small icon="plus" onClick={() => setOpen({ verb: 'add' })}>
            New passkey
          </Button>
        )}
      </div>
      <Rows
        of={polled}
        none="None. With a passkey, you sign in by your fingerprint, face or PIN, without a password and code."
        label="Passkeys"
        head={['Name', 'Created', 'Last used', ACTIONS]}
      >
        {(polled.data ?? []).map(passkey => (
          <tr key={passkey.id}>
            <th scope="row" class="long">{passkey.name}</th>
            <TimeCell at={passkey.created_at} />
            <TimeCell at={passkey.last_used_at} none="never" />
            <td class="row-actions">
              <Button small label={`Rename ${passkey.name}`} onClick={() => setOpen({ verb: 'rename', passkey })}>
                Rename
              </Button>
              <Button small label={`Remove ${passkey.name}`} onClick={() => setOpen({ verb: 'remove', passkey })}>
                Remove
              </Button>
            </td>
          </tr>
        ))}
      </Rows>
      {open && <PasskeyDialog open={open} onClose={() => setOpen(null)} onDone={polled.refresh} />}
    </section>
  )
}
