// SPDX-License-Identifier: GPL-2.0-or-later
// Teams and users of the deployment, for its operators.
import { useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { messageOf } from '../lib/errors'
import { formatNumber } from '../lib/format'
import { usePoll } from '../lib/poll'
import { ACTIONS, NewButton, SecretText, SelectField, State, TextField, Time, TimeCell } from '../parts/basic'
import { CurvesButton } from '../parts/curves_button'
import { FormDialog, SecretDialog, say } from '../parts/dialog'
import { Rows } from '../parts/rows'
import { usePlans } from './plans'

type OperatedTeam = Schemas['OperatedTeam']

const A_PAGE = 100
const LOOK_MS = 15_000

interface Named<T> {
  items: T[]
  next_token?: string
}

/** The first pages of a list by name; the page reads all of these again every 15 seconds. */
function useNamed<T>(read: (query: { limit: number; next_token?: string }, signal: AbortSignal) => Promise<Named<T>>) {
  const [pages, setPages] = useState(1)
  const polled = usePoll(
    async signal => {
      const items: T[] = []
      let token: string | undefined
      for (let page = 0; page < pages; page++) {
        const answer = await read({ limit: A_PAGE, ...(token ? { next_token: token } : {}) }, signal)
        items.push(...answer.items)
        token = answer.next_token
        if (!token) break
      }
      return { items, more: token !== undefined, pages }
    },
    LOOK_MS,
    [],
  )
  const loadMore = (): void => {
    if (polled.data?.pages !== pages) return // The page before this one is still loading.
    setPages(pages + 1)
    polled.refresh()
  }
  return { ...polled, more: polled.data?.more ?? false, loadMore }
}

// --- teams ---

function TeamDialog(props: { plans: string[]; onClose: () => void; onDone: () => void }) {
  const [slug, setSlug] = useState('')
  const [owner, setOwner] = useState('')
  const [chosen, setPlan] = useState<string | null>(null)
  const plan = chosen ?? props.plans[0] ?? '' // The plans may come after the dialog is open.
  return (
    <FormDialog
      title="New team"
      action="Create"
      disabled={plan === ''}
      onClose={props.onClose}
      submit={async () => {
        await api.post('/v1/operator/teams', { body: { slug, owner, plan } })
        say(`The team ${slug} is created.`)
        props.onDone()
        props.onClose()
      }}
    >
      <TextField label="Name" member="slug" required autoFocus value={slug} onInput={setSlug} maxLength={63} hint="Lower-case letters, digits and hyphens." />
      <TextField label="Owner" member="owner" required value={owner} onInput={setOwner} maxLength={63} hint="The name of a user, who can invite others." />
      <SelectField label="Plan" member="plan" value={plan} choices={props.plans.map(name => ({ value: name, text: name }))} onChange={setPlan} />
    </FormDialog>
  )
}

export function Teams() {
  const { plans } = usePlans()
  const [making, setMaking] = useState(false)
  const list = useNamed((query, signal) => api.get('/v1/operator/teams', { query, signal }))
  const setPlan = (team: OperatedTeam, plan: string): void => {
    api
      .patch('/v1/operator/teams/{slug}', { path: { slug: team.slug }, body: { plan } })
      .then(() => say(`${team.slug} is on the plan ${plan}.`))
      .catch((error: unknown) => say(messageOf(error), true))
      .finally(list.refresh)
  }
  return (
    <>
      <div class="actions before-table">
        <NewButton what="team" onClick={() => setMaking(true)} />
      </div>
      <Rows
        of={list}
        none="No teams yet."
        label="Teams"
        head={['Team', 'Plan', 'Members', 'Running', 'Paused', 'Since', ACTIONS]}
      >
        {(list.data?.items ?? []).map(team => (
          <tr key={team.slug}>
            <th scope="row" class="long">
              <a href={`/operator/sandboxes?team=${team.slug}`}>{team.slug}</a>
            </th>
            <td>
              <select
                aria-label={`Plan of ${team.slug}`}
                value={team.plan}
                onChange={event => setPlan(team, event.currentTarget.value)}
              >
                {(plans.length > 0 ? plans.map(plan => plan.name) : [team.plan]).map(name => (
                  <option key={name} value={name} selected={name === team.plan}>
                    {name}
                  </option>
                ))}
              </select>
            </td>
            <td class="number">{formatNumber(team.members)}</td>
            <td class="number">{formatNumber(team.sandboxes)}</td>
            <td class="number">{formatNumber(team.stopped_sandboxes)}</td>
            <TimeCell at={team.created_at} />
            <td class="row-actions">
              <CurvesButton team={team.slug} />
            </td>
          </tr>
        ))}
      </Rows>
      {making && <TeamDialog plans={plans.map(plan => plan.name)} onClose={() => setMaking(false)} onDone={list.refresh} />}
    </>
  )
}

// --- users ---

type Created = Schemas['CreatedUser']

function UserDialog(props: { onClose: () => void; onMade: (user: Created) => void }) {
  const [name, setName] = useState('')
  return (
    <FormDialog
      title="New user"
      action="Create"
      onClose={props.onClose}
      submit={async () => props.onMade(await api.post('/v1/operator/users', { body: { name } }))}
    >
      <TextField label="Name" member="name" required autoFocus value={name} onInput={setName} maxLength={63} hint="Lower-case letters, digits and hyphens. sandlot also creates a personal team with this name." />
    </FormDialog>
  )
}

function LinkDialog(props: { user: Created; link: string; onClose: () => void }) {
  const { user, link } = props
  return (
    <SecretDialog title={`The link of ${user.name}`} onClose={props.onClose}>
      <p>
        Give it to {user.name} only: with it they set their password and sign in. It is shown only now, and expires{' '}
        <Time at={user.link_expires_at} />.
      </p>
      <SecretText text={link} what="the link" kind="link" />
    </SecretDialog>
  )
}

export function Users() {
  const [making, setMaking] = useState(false)
  const [made, setMade] = useState<Created | null>(null)
  const list = useNamed((query, signal) => api.get('/v1/operator/users', { query, signal }))
  return (
    <>
      <div class="actions before-table">
        <NewButton what="user" onClick={() => setMaking(true)} />
      </div>
      <Rows of={list} none="No users yet." label="Users" head={['Name', 'State', 'Password', 'Second factor', 'Passkeys']}>
        {(list.data?.items ?? []).map(user => (
          <tr key={user.id}>
            <th scope="row" class="long">{user.name}</th>
            <td>
              <State value={user.disabled_at ? 'stopped' : 'ready'} word={user.disabled_at ? 'disabled' : 'enabled'} />
            </td>
            <td>{user.password ? 'set' : 'none'}</td>
            <td>{user.second_factor ? 'on' : 'off'}</td>
            <td>{user.passkeys}</td>
          </tr>
        ))}
      </Rows>
      {making && (
        <UserDialog
          onClose={() => setMaking(false)}
          onMade={user => {
            setMaking(false)
            if (user.link) setMade(user)
            else say(`The user ${user.name} is created.`)
            list.refresh()
          }}
        />
      )}
      {made?.link && <LinkDialog user={made} link={made.link} onClose={() => setMade(null)} />}
    </>
  )
}
