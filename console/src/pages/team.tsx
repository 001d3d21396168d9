// SPDX-License-Identifier: GPL-2.0-or-later
import { useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { messageOf } from '../lib/errors'
import { usePoll } from '../lib/poll'
import { loadMe, useMe, useTeam, type Role } from '../lib/session'
import { Activity } from '../parts/activity'
import { ACTIONS, Button, Fact, Facts, Id, Loading, Page, Problem, SecretText, SelectField, Table, TextField, TimeCell, type Choice } from '../parts/basic'
import { FormDialog, SecretDialog, ask, say } from '../parts/dialog'
import { ExpiryCell } from '../parts/key_password'
import { Rows } from '../parts/rows'

type Member = Schemas['Member']
type Invitation = Schemas['Invitation']
type TeamKey = Schemas['TeamKey']

const ROLES: Choice[] = [
  { value: 'owner', text: 'Owner: also manages the members' },
  { value: 'member', text: 'Member: creates and changes sandboxes and other objects' },
  { value: 'viewer', text: 'Viewer: sees lists, settings, logs and files of volumes, and changes nothing' },
]

function InviteDialog(props: { team: string; onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('member')
  return (
    <FormDialog
      title={`Invite somebody into ${props.team}`}
      action="Invite"
      onClose={props.onClose}
      submit={async () => {
        await api.post('/v1/teams/{slug}/invitations', { path: { slug: props.team }, body: { name, role } })
        say(`${name} sees the invitation on the page “Account” and answers it there.`)
        props.onDone()
        props.onClose()
      }}
    >
      <TextField label="Name" member="name" required autoFocus value={name} onInput={setName} hint="The user's name at the sign-in." />
      <SelectField label="Role" member="role" value={role} choices={ROLES} onChange={value => setRole(value as Role)} />
    </FormDialog>
  )
}

const LINK_ROLES = ROLES.filter(role => role.value !== 'owner')
const DAY_MS = 86_400_000

function LinkDialog(props: { team: string; onClose: () => void; onMade: (link: Schemas['CreatedTeamLink']) => void }) {
  const [role, setRole] = useState<'member' | 'viewer'>('member')
  const [uses, setUses] = useState('1')
  const [days, setDays] = useState('7')
  return (
    <FormDialog
      title={`A link into ${props.team}`}
      action="Create"
      onClose={props.onClose}
      submit={async () => {
        const expires = new Date(Date.now() + Number(days) * DAY_MS - 1000).toISOString()
        const body = { role, uses: Number(uses), expires_at: expires }
        props.onMade(await api.post('/v1/teams/{slug}/links', { path: { slug: props.team }, body }))
      }}
    >
      <SelectField
        label="Role"
        member="role"
        value={role}
        choices={LINK_ROLES}
        onChange={value => setRole(value as 'member' | 'viewer')}
        hint="Everyone with the link can get this role. Send it only to these people."
      />
      <TextField label="People" member="uses" type="number" min={1} max={100} required value={uses} onInput={setUses} hint="Number of people who can join." />
      <TextField label="Days" member="expires_at" type="number" min={1} max={30} required value={days} onInput={setDays} hint="Days until the link expires." />
    </FormDialog>
  )
}

function MadeLink(props: { made: Schemas['CreatedTeamLink']; onClose: () => void }) {
  const text = props.made.link ?? props.made.token
  return (
    <SecretDialog title={`Your link into ${props.made.team}`} onClose={props.onClose}>
      <p>The link is shown only now. Send it to the people whom you invite; they sign in and accept.</p>
      <SecretText text={text} what="the link" kind="link" />
    </SecretDialog>
  )
}

/** Open links, by which people can join: for owners. */
function Links(props: { team: string; links: Schemas['TeamLink'][]; refresh: () => void }) {
  const { team, refresh } = props
  const revoke = (one: Schemas['TeamLink']): void =>
    ask('Revoke the link?', 'No one else can join with it. People who have joined stay.', 'Revoke', async () => {
      await api.delete('/v1/teams/{slug}/links/{id}', { path: { slug: team, id: one.id } })
      refresh()
    })
  if (props.links.length === 0) return null
  return (
    <section class="card" aria-label="Links">
      <h2>Links</h2>
      <Table label="Links" head={['Link', 'Role', 'Uses left', 'Created by', 'Expires', ACTIONS]}>
        {props.links.map(one => (
          <tr key={one.id}>
            <th scope="row">
              <Id value={one.id} />
            </th>
            <td>{one.role}</td>
            <td class="number">{one.uses_left}</td>
            <td class="long">{one.made_by}</td>
            <TimeCell at={one.expires_at} />
            <td class="row-actions">
              <Button small label={`Revoke the link ${one.id}`} onClick={() => revoke(one)}>
                Revoke
              </Button>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function shutOut(team: string, key: TeamKey, refresh: () => void): void {
  ask(
    `Revoke ${key.name || key.id} of ${key.user}?`,
    `sandlot then refuses the key in ${team}. In its other teams, the key still works.`,
    'Revoke',
    async () => {
      await api.delete('/v1/teams/{slug}/keys/{id}', { path: { slug: team, id: key.id } })
      say(`The key is revoked in ${team}.`)
      refresh()
    },
  )
}

/** Own keys, and keys of other members that name the team or were used in it: for owners. */
function TeamKeys(props: { team: string }) {
  const path = { slug: props.team }
  const polled = usePoll(signal => api.get('/v1/teams/{slug}/keys', { path, signal }), 15_000, [props.team])
  const keys = polled.data?.items ?? []
  return (
    <section class="card" aria-label="Keys that reach this team">
      <h2>Keys that reach this team</h2>
      <Rows
        of={polled}
        none="There is no such key."
        label="Keys that reach this team"
        head={['Name', 'User', 'Permissions', 'Kind', 'Last used', 'Expires', ACTIONS]}
      >
        {keys.map(key => (
          <tr key={key.id}>
            <th scope="row" class="long">{key.name || <Id value={key.id} />}</th>
            <td class="long">{key.user}</td>
            <td class="nowrap">{key.scopes.includes('write') ? 'read and write' : 'read'}</td>
            <td class="nowrap">
              {key.kind === 'ssh' ? 'SSH' : 'API'}, {key.all_teams ? 'every team' : 'named teams'}
            </td>
            <TimeCell at={key.last_used_at} none="never" />
            <ExpiryCell of={key} />
            <td class="row-actions">
              <Button
                small
                label={`Revoke ${key.name || key.id} of ${key.user}`}
                onClick={() => shutOut(props.team, key, polled.refresh)}
              >
                Revoke
              </Button>
            </td>
          </tr>
        ))}
      </Rows>
    </section>
  )
}

function Members(props: { members: Member[]; team: ReturnType<typeof useTeam>; refresh: () => void }) {
  const { team, refresh } = props
  const { user } = useMe()
  const owner = team.role === 'owner'
  const pathOf = (member: Member) => ({ slug: team.slug, name: member.name })
  const setRole = (member: Member, role: Role): void => {
    api
      .patch('/v1/teams/{slug}/members/{name}', { path: pathOf(member), body: { role } })
      .then(async () => {
        refresh()
        if (member.name === user.name) await loadMe()
      })
      .catch((error: unknown) => {
        say(messageOf(error), true)
        refresh()
      })
  }
  const remove = (member: Member): void => {
    const self = member.name === user.name
    ask(
      self ? `Leave ${team.slug}?` : `Remove ${member.name} from ${team.slug}?`,
      self ? 'You lose access to its sandboxes and other objects.' : 'Their keys lose access to its sandboxes and other objects.',
      self ? 'Leave' : 'Remove',
      async () => {
        await api.delete('/v1/teams/{slug}/members/{name}', { path: pathOf(member) })
        if (self) await loadMe()
        else refresh()
      },
    )
  }
  return (
    <Table label="Members" head={['Name', 'Role', 'Since', ACTIONS]}>
      {props.members.map(member => (
        <tr key={member.name}>
          <th scope="row" class="long">
            {member.name}
            {member.name === user.name && <span class="muted"> (you)</span>}
          </th>
          <td>
            {owner ? (
              <select
                aria-label={`Role of ${member.name}`}
                value={member.role}
                onChange={event => setRole(member, event.currentTarget.value as Role)}
              >
                {ROLES.map(role => (
                  <option key={role.value} value={role.value} selected={role.value === member.role}>
                    {role.value}
                  </option>
                ))}
              </select>
            ) : (
              member.role
            )}
          </td>
          <TimeCell at={member.added_at} />
          <td class="row-actions">
            {(owner || member.name === user.name) && !team.personal && (
              <Button
                small
                label={member.name === user.name ? `Leave ${team.slug}` : `Remove ${member.name}`}
                onClick={() => remove(member)}
              >
                {member.name === user.name ? 'Leave' : 'Remove'}
              </Button>
            )}
          </td>
        </tr>
      ))}
    </Table>
  )
}

/** Open invitations, which their users have not answered yet: for owners. */
function Invitations(props: { team: string; invitations: Invitation[]; refresh: () => void }) {
  const { team, refresh } = props
  const withdraw = (one: Invitation): void =>
    ask(`Withdraw the invitation of ${one.name}?`, `${one.name} can no longer accept it.`, 'Withdraw', async () => {
      await api.delete('/v1/teams/{slug}/invitations/{name}', { path: { slug: team, name: one.name } })
      refresh()
    })
  if (props.invitations.length === 0) return null
  return (
    <section class="card" aria-label="Invitations">
      <h2>Invitations</h2>
      <Table label="Invitations" head={['Name', 'Role', 'Invited by', 'Expires', ACTIONS]}>
        {props.invitations.map(one => (
          <tr key={one.name}>
            <th scope="row" class="long">{one.name}</th>
            <td>{one.role}</td>
            <td class="long">{one.invited_by}</td>
            <TimeCell at={one.expires_at} />
            <td class="row-actions">
              <Button small label={`Withdraw the invitation of ${one.name}`} onClick={() => withdraw(one)}>
                Withdraw
              </Button>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

export function Team() {
  const team = useTeam()
  const [inviting, setInviting] = useState(false)
  const [linking, setLinking] = useState(false)
  const [made, setMade] = useState<Schemas['CreatedTeamLink'] | null>(null)
  const owner = team.role === 'owner'
  const polled = usePoll(
    async signal => {
      const path = { slug: team.slug }
      const members = await api.get('/v1/teams/{slug}/members', { path, signal })
      const open = owner ? await api.get('/v1/teams/{slug}/invitations', { path, signal }) : { items: [] }
      const links = owner ? await api.get('/v1/teams/{slug}/links', { path, signal }) : { items: [] }
      return { members: members.items, invitations: open.items, links: links.items }
    },
    15_000,
    [team.slug],
  )
  const invite = owner && !team.personal && (
    <>
      <Button icon="link" onClick={() => setLinking(true)}>
        Invite by a link
      </Button>
      <Button kind="primary" icon="plus" onClick={() => setInviting(true)}>
        Invite somebody
      </Button>
    </>
  )
  return (
    <Page title={`Team ${team.slug}`} actions={invite}>
      <section class="card" aria-label="Facts">
        <Facts>
          <Fact name="Name">{team.slug}</Fact>
          <Fact name="Plan">{team.plan}</Fact>
          <Fact name="Your role">{team.role}</Fact>
          <Fact name="Kind">{team.personal ? 'personal' : 'shared'}</Fact>
        </Facts>
      </section>
      <section class="card" aria-label="Members">
        <h2>Members</h2>
        <Problem error={polled.error} />
        {polled.loading && <Loading />}
        {polled.data && <Members members={polled.data.members} team={team} refresh={polled.refresh} />}
      </section>
      {polled.data && <Invitations team={team.slug} invitations={polled.data.invitations} refresh={polled.refresh} />}
      {polled.data && <Links team={team.slug} links={polled.data.links} refresh={polled.refresh} />}
      {owner && <TeamKeys team={team.slug} />}
      {owner && <Activity team={team.slug} />}
      {linking && (
        <LinkDialog
          team={team.slug}
          onClose={() => setLinking(false)}
          onMade={link => {
            setLinking(false)
            setMade(link)
            polled.refresh()
          }}
        />
      )}
      {made && <MadeLink made={made} onClose={() => setMade(null)} />}
      {inviting && <InviteDialog team={team.slug} onClose={() => setInviting(false)} onDone={polled.refresh} />}
    </Page>
  )
}
