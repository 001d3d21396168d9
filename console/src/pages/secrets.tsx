// SPDX-License-Identifier: GPL-2.0-or-later
// Values that the service adds to requests of sandboxes: written here, and never shown again.
import { useState } from 'preact/hooks'
import { atField, changeRecord, mergeEntries } from '../lib/changes'
import { api, type Schemas } from '../lib/client'
import { usePoll } from '../lib/poll'
import { useMayWrite, useTeam } from '../lib/session'
import { ACTIONS, AreaField, Button, NewButton, Page, TextField, TimeCell } from '../parts/basic'
import { FormDialog, ask, say } from '../parts/dialog'
import { Rows } from '../parts/rows'

type Secret = Schemas['Secret']
/** A dialog makes a new secret, or changes the value or the hosts of an existing one. */
type Change = { kind: 'new' } | { kind: 'value' | 'hosts'; secret: Secret }

const TITLES = {
  new: () => 'New secret',
  value: (name: string) => `New value of ${name}`,
  hosts: (name: string) => `Hosts of ${name}`,
}

function HostsField(props: { value: string; onInput: (value: string) => void }) {
  return (
    <AreaField
      label="Hosts"
      member="hosts"
      value={props.value}
      onInput={props.onInput}
      hint={
        <>
          One on each line: <code>api.example.com</code>, or <code>*.example.com</code> for all names below it. The secret goes
          nowhere else.
        </>
      }
    />
  )
}

function ChangeDialog(props: { team: string; change: Change; onClose: () => void; onDone: () => void }) {
  const { change } = props
  const [known, setKnown] = useState(change.kind === 'new' ? null : change.secret)
  const [name, setName] = useState(known?.name ?? '')
  const [value, setValue] = useState('')
  const [hosts, setHosts] = useState((known?.hosts ?? []).join('\n'))
  const list = hosts.split(/\s+/).filter(Boolean)
  const path = { name }
  // The hosts with a new value too: the service refuses a value without hosts that another user set.
  const body = { team: props.team, ...(value ? { value } : {}), hosts: list }
  const create = (): Promise<Secret> =>
    api.put('/v1/secrets/{name}', { path, body, isNew: true }).catch((refusal: unknown) => {
      throw atField(refusal, '/name', `The team ${props.team} already has a secret with this name.`)
    })
  const replace = (loaded: Secret): Promise<Secret> =>
    changeRecord({
      loaded,
      shown: secret => ({ Hosts: secret.hosts.join(', '), Version: String(secret.version) }),
      read: () => api.get('/v1/secrets/{name}', { path, query: { team: props.team } }),
      write: record => api.put('/v1/secrets/{name}', { path, body, ifMatch: record }),
      load: newer => {
        setKnown(newer)
        setHosts(mergeEntries(loaded.hosts, list, newer.hosts).join('\n'))
      },
    })
  return (
    <FormDialog
      title={TITLES[change.kind](name)}
      action={known ? 'Save' : 'Create'}
      onClose={props.onClose}
      submit={async () => {
        await (known ? replace(known) : create())
        say(known ? `The secret ${name} is changed; sandboxes have it within seconds.` : `The secret ${name} is stored.`)
        props.onDone()
        props.onClose()
      }}
    >
      {!known && (
        <TextField
          label="Name"
          member="name"
          mono
          required
          autoFocus
          maxLength={63}
          value={name}
          onInput={setName}
          hint="Letters, digits, hyphens and underscores. Egress rules use the secret by this name."
        />
      )}
      <TextField
        label="Value"
        member="value"
        type="password"
        autoComplete="off"
        required={change.kind !== 'hosts'}
        autoFocus={change.kind === 'value'}
        maxLength={4096}
        value={value}
        onInput={setValue}
        hint={
          change.kind === 'hosts'
            ? 'To add a host, give the value again. To remove hosts, leave it empty.'
            : 'sandlot never shows it again, and no sandbox gets a copy.'
        }
      />
      <HostsField value={hosts} onInput={setHosts} />
    </FormDialog>
  )
}

function remove(secret: Secret, refresh: () => void): void {
  ask(
    `Delete the secret ${secret.name}?`,
    'Within seconds, sandlot refuses the requests of sandboxes that need it. sandlot cannot show you its value first.',
    'Delete',
    async () => {
      await api.delete('/v1/secrets/{name}', { path: { name: secret.name }, query: { team: secret.team } })
      say(`The secret ${secret.name} is deleted.`)
      refresh()
    },
  )
}

function SecretRow(props: { secret: Secret; mayWrite: boolean; change: (change: Change) => void; refresh: () => void }) {
  const { secret, change } = props
  return (
    <tr>
      <th scope="row" class="long">{secret.name}</th>
      <td>
        {secret.hosts.map(host => (
          <code key={host} class="attached long">
            {host}
          </code>
        ))}
      </td>
      <td class="number">{secret.version}</td>
      <TimeCell at={secret.updated_at} />
      <TimeCell at={secret.last_used_at} none="never" />
      <td class="row-actions">
        {props.mayWrite && (
          <>
            <Button small label={`New value of ${secret.name}`} onClick={() => change({ kind: 'value', secret })}>
              New value
            </Button>
            <Button small label={`Hosts of ${secret.name}`} onClick={() => change({ kind: 'hosts', secret })}>
              Hosts
            </Button>
            <Button small label={`Delete ${secret.name}`} onClick={() => remove(secret, props.refresh)}>
              Delete
            </Button>
          </>
        )}
      </td>
    </tr>
  )
}

export function Secrets() {
  const team = useTeam()
  const mayWrite = useMayWrite()
  const [change, setChange] = useState<Change | null>(null)
  const polled = usePoll(signal => api.get('/v1/secrets', { query: { team: team.slug }, signal }), 8000, [team.slug])
  const secrets = polled.data?.secrets ?? []
  const create = mayWrite && <NewButton what="secret" onClick={() => setChange({ kind: 'new' })} />
  return (
    <Page title="Secrets" actions={create}>
      <Rows
        of={polled}
        none={[
          'No secrets yet',
          'A secret is a key that sandboxes use and never see. With an egress rule, the service adds it to requests to the hosts that you choose.',
        ]}
        label="Secrets"
        head={['Name', 'Hosts', 'Version', 'Changed', 'Last used', ACTIONS]}
      >
        {secrets.map(secret => (
          <SecretRow key={secret.name} secret={secret} mayWrite={mayWrite} change={setChange} refresh={polled.refresh} />
        ))}
      </Rows>
      {change && <ChangeDialog team={team.slug} change={change} onClose={() => setChange(null)} onDone={polled.refresh} />}
    </Page>
  )
}
