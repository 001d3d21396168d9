// SPDX-License-Identifier: GPL-2.0-or-later
import { useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { useIdempotencyKey } from '../lib/idempotency'
import { usePoll } from '../lib/poll'
import { useMe } from '../lib/session'
import { ACTIONS, Button, Check, Id, NewButton, Page, SecretText, SelectField, TextField, TimeCell } from '../parts/basic'
import { FormDialog, SecretDialog } from '../parts/dialog'
import { ExpiryCell, KeyPassword } from '../parts/key_password'
import { RevokeDialog, called, type AnyKey } from '../parts/revoke_key'
import { Rows } from '../parts/rows'
import { SshKeys, useSshKeys } from '../parts/ssh_keys'

function CreateDialog(props: { onClose: () => void; onMade: (key: Schemas['CreatedKey']) => void }) {
  const { teams } = useMe()
  const [name, setName] = useState('')
  const [scope, setScope] = useState<'read' | 'write'>('write')
  const [chosen, setChosen] = useState<string[]>([])
  const [expires, setExpires] = useState('')
  const [password, setPassword] = useState('')
  const keyOf = useIdempotencyKey()
  return (
    <FormDialog
      title="New key"
      action="Create"
      onClose={props.onClose}
      submit={async () => {
        const body = {
          name,
          scopes: [scope],
          ...(chosen.length > 0 ? { teams: chosen } : {}),
          ...(expires ? { expires_at: new Date(expires).toISOString() } : {}),
          ...(password ? { password } : {}),
        }
        props.onMade(await api.post('/v1/keys', { body, idempotencyKey: keyOf(body) }))
      }}
    >
      <TextField label="Name" member="name" name="key-name" autoFocus value={name} onInput={setName} hint="Name of the program that uses the key." />
      <SelectField
        label="Permissions"
        value={scope}
        choices={[
          { value: 'write', text: 'Read and write (scope write)' },
          { value: 'read', text: 'Only read (scope read)' },
        ]}
        onChange={value => setScope(value as 'read' | 'write')}
      />
      <fieldset>
        <legend>Teams</legend>
        <p class="hint">Without a choice: all your teams, including later ones.</p>
        {teams.map(team => (
          <Check
            key={team.slug}
            label={team.slug}
            checked={chosen.includes(team.slug)}
            onChange={on => setChosen(on ? [...chosen, team.slug] : chosen.filter(slug => slug !== team.slug))}
          />
        ))}
      </fieldset>
      <TextField label="Expires" member="expires_at" type="datetime-local" value={expires} onInput={setExpires} hint="Empty: never." />
      <KeyPassword value={password} onInput={setPassword} />
    </FormDialog>
  )
}

function MadeDialog(props: { made: Schemas['CreatedKey']; onClose: () => void }) {
  const { made } = props
  return (
    <SecretDialog title="Your new key" onClose={props.onClose}>
      <p>The console shows the key only now. Store it where only your programs can read it.</p>
      <SecretText text={made.key} what="the key" kind="key" />
      <p class="hint">The same key for clients of E2B:</p>
      <SecretText text={made.e2b_key} what="the key for clients of E2B" />
    </SecretDialog>
  )
}

export function Keys() {
  const polled = usePoll(signal => api.get('/v1/keys', { signal }), 15_000, [])
  const [making, setMaking] = useState(false)
  const [made, setMade] = useState<Schemas['CreatedKey'] | null>(null)
  const [revoking, setRevoking] = useState<AnyKey | null>(null)
  const polledSsh = useSshKeys()
  const keys = polled.data?.keys ?? []
  const all = [...keys, ...(polledSsh.data?.ssh_keys ?? [])]
  const creator = (key: AnyKey): string | null => {
    const found = all.find(one => one.id === key.created_by)
    return found ? called(found) : key.created_by
  }
  const refresh = () => {
    polled.refresh()
    polledSsh.refresh()
  }
  const create = <NewButton what="key" onClick={() => setMaking(true)} />
  return (
    <Page title="Keys" actions={create}>
      <Rows
        of={polled}
        none={[
          'No keys yet',
          'Programs call the API with your keys. Create a key for each program, so that you can revoke each one alone.',
        ]}
        label="Keys"
        head={['Name', 'Id', 'Permissions', 'Teams', 'Created by', 'Last used', 'Expires', ACTIONS]}
      >
        {keys.map(key => (
          <tr key={key.id}>
            <th scope="row" class="long">{key.name || <span class="muted">without a name</span>}</th>
            <td>
              <Id value={key.id} />
            </td>
            <td class="nowrap">{key.scopes.includes('write') ? 'read and write' : 'read'}</td>
            <td class="long">{key.teams !== null ? key.teams.join(', ') : key.excluded_by.length ? `all but ${key.excluded_by.join(', ')}` : 'all'}</td>
            <td class="long">{creator(key) ?? <span class="muted">no key</span>}</td>
            <TimeCell at={key.last_used_at} none="never" />
            <ExpiryCell of={key} />
            <td class="row-actions">
              <Button small label={`Revoke ${called(key)}`} onClick={() => setRevoking(key)}>
                Revoke
              </Button>
            </td>
          </tr>
        ))}
      </Rows>
      <SshKeys polled={polledSsh} creator={creator} onRevoke={setRevoking} />
      {revoking && (
        <RevokeDialog
          of={revoking}
          onClose={() => setRevoking(null)}
          onDone={() => {
            setRevoking(null)
            refresh()
          }}
        />
      )}
      {making && (
        <CreateDialog
          onClose={() => setMaking(false)}
          onMade={key => {
            setMaking(false)
            setMade(key)
            polled.refresh()
          }}
        />
      )}
      {made && <MadeDialog made={made} onClose={() => setMade(null)} />}
    </Page>
  )
}
