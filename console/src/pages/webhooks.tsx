// SPDX-License-Identifier: GPL-2.0-or-later
// Addresses that the events of a team are sent to.
import { useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { messageOf } from '../lib/errors'
import { useIdempotencyKey } from '../lib/idempotency'
import { useTeamList } from '../lib/pages'
import { useMayWrite, useTeam } from '../lib/session'
import { ACTIONS, AreaField, Button, Check, NewButton, Page, SecretText, State, TextField, Time, TimeCell } from '../parts/basic'
import { FormDialog, SecretDialog, ask, say } from '../parts/dialog'
import { Rows } from '../parts/rows'

type Webhook = Schemas['Webhook']
type Kind = Schemas['EventKind']

const TEST_LOOK_MS = 500
const TEST_LOOKS = 40

function CreateDialog(props: { team: string; onClose: () => void; onMade: (made: Schemas['WebhookWithSecret']) => void }) {
  const [url, setUrl] = useState('')
  const [kinds, setKinds] = useState('')
  const keyOf = useIdempotencyKey()
  return (
    <FormDialog
      title="New webhook"
      action="Create"
      onClose={props.onClose}
      submit={async () => {
        const list = kinds.split(/\s+/).filter(Boolean) as Kind[]
        const body = { team: props.team, url, ...(list.length > 0 ? { kinds: list } : {}) }
        props.onMade(await api.post('/v1/webhooks', { body, idempotencyKey: keyOf(body) }))
      }}
    >
      <TextField
        label="Address"
        member="url"
        mono
        required
        autoFocus
        maxLength={2000}
        value={url}
        onInput={setUrl}
        placeholder="https://"
        hint="The service sends signed events to this address."
      />
      <AreaField
        label="Kinds of events"
        member="kinds"
        value={kinds}
        onInput={setKinds}
        hint={
          <>
            One on each line, such as <code>sandbox.paused</code>. Empty: all.
          </>
        }
      />
    </FormDialog>
  )
}

function WebhookSecret(props: { secret: string; onClose: () => void }) {
  return (
    <SecretDialog title="The secret of the webhook" onClose={props.onClose}>
      <p>Your server checks signatures with it. The console shows it only now.</p>
      <SecretText text={props.secret} what="the secret" kind="webhook" />
    </SecretDialog>
  )
}

/** Sends a test message, and returns it when it was delivered or has failed. */
async function tested(id: string): Promise<Schemas['WebhookMessage']> {
  let message = await api.post('/v1/webhooks/{id}/test', { path: { id } })
  for (let looks = 0; looks < TEST_LOOKS && message.state === 'waiting' && message.attempts === 0; looks++) {
    await new Promise(resolve => window.setTimeout(resolve, TEST_LOOK_MS))
    message = await api.get('/v1/webhooks/{id}/messages/{message}', { path: { id, message: message.id } })
  }
  return message
}

function WebhookRow(props: { webhook: Webhook; mayWrite: boolean; refresh: () => void; show: (secret: string) => void }) {
  const { webhook, refresh } = props
  const path = { id: webhook.id }
  const fails = webhook.failed_at !== null && (webhook.delivered_at === null || webhook.failed_at > webhook.delivered_at)
  const setEnabled = (enabled: boolean): void => {
    api
      .patch('/v1/webhooks/{id}', { path, body: { enabled } })
      .catch((error: unknown) => say(messageOf(error), true))
      .finally(refresh)
  }
  const test = (): void => {
    tested(webhook.id)
      .then(message => {
        const sent = message.state === 'delivered'
        say(sent ? 'The test was delivered.' : `The test failed: ${message.last_error ?? message.last_status ?? 'no answer yet'}`, !sent)
      })
      .catch((error: unknown) => say(messageOf(error), true))
      .finally(refresh)
  }
  const resend = (): void => {
    api
      .post('/v1/webhooks/{id}/resend', { path })
      .then(({ resent, left }) => say(`Messages that are sent again: ${resent}.${left > 0 ? ` Repeat this later for ${left} more.` : ''}`))
      .catch((error: unknown) => say(messageOf(error), true))
      .finally(refresh)
  }
  const rotate = (): void =>
    ask('Create a new secret?', 'For a day, sandlot also signs with the old secret, so that your server can change to the new one.', 'Create', async () => {
      props.show((await api.post('/v1/webhooks/{id}/rotate', { path })).secret)
    }, false)
  const remove = (): void =>
    ask(`Delete the webhook to ${webhook.url}?`, 'This also deletes its waiting messages.', 'Delete', async () => {
      await api.delete('/v1/webhooks/{id}', { path })
      refresh()
    })
  return (
    <tr>
      <th scope="row" class="long">
        {webhook.url}
      </th>
      <td>{webhook.kinds.length === 0 ? 'all' : webhook.kinds.join(', ')}</td>
      <TimeCell at={webhook.delivered_at} none="never" />
      <td class="nowrap">
        {fails && <State value="failed" word="fails" />} <Time at={webhook.failed_at} none="never" />
      </td>
      <td>
        <Check
          label={<span class="unseen">{webhook.url} is enabled</span>}
          checked={webhook.enabled}
          disabled={!props.mayWrite}
          onChange={setEnabled}
        />
      </td>
      <td class="row-actions">
        {props.mayWrite && (
          <>
            <Button small label={`Send a test to ${webhook.url}`} onClick={test}>
              Test
            </Button>
            {webhook.failed_at !== null && (
              <Button small label={`Send the failed messages to ${webhook.url} again`} onClick={resend}>
                Resend
              </Button>
            )}
            <Button small label={`New secret of ${webhook.url}`} onClick={rotate}>
              New secret
            </Button>
            <Button small label={`Delete ${webhook.url}`} onClick={remove}>
              Delete
            </Button>
          </>
        )}
      </td>
    </tr>
  )
}

export function Webhooks() {
  const team = useTeam()
  const mayWrite = useMayWrite()
  const [making, setMaking] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  const list = useTeamList<Webhook>(async (query, signal) => {
    const answer = await api.get('/v1/webhooks', { query, signal })
    return { rows: answer.webhooks, next: answer.next_token }
  })
  const create = mayWrite && <NewButton what="webhook" onClick={() => setMaking(true)} />
  return (
    <Page title="Webhooks" actions={create}>
      <Rows
        of={list}
        none={[
          'No webhooks yet',
          "A webhook is your address to which the service sends the team's events, such as the end of a sandbox.",
        ]}
        label="Webhooks"
        head={['Address', 'Events', 'Last delivery', 'Last failure', 'Enabled', ACTIONS]}
      >
        {list.rows.map(webhook => (
          <WebhookRow key={webhook.id} webhook={webhook} mayWrite={mayWrite} refresh={list.refresh} show={setSecret} />
        ))}
      </Rows>
      {making && (
        <CreateDialog
          team={team.slug}
          onClose={() => setMaking(false)}
          onMade={made => {
            setMaking(false)
            setSecret(made.secret)
            list.refresh()
          }}
        />
      )}
      {secret && <WebhookSecret secret={secret} onClose={() => setSecret(null)} />}
    </Page>
  )
}
