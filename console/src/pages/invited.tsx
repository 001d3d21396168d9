// SPDX-License-Identifier: GPL-2.0-or-later
// The pages of the two kinds of links that people are sent: for a first password, and into a team.
// The token of a link is behind the #, which no server and no log is sent.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { KEPT_LINK } from '../lib/dataplane'
import { navigate, useTitle } from '../lib/router'
import { acceptInvite, chooseTeam, loadMe, me, signOut, signUp } from '../lib/session'
import { useStore } from '../lib/store'
import { Button, Loading, Note, Problem, TextField, Time } from '../parts/basic'
import { say, useAction, useRefusedForm } from '../parts/dialog'

function Alone(props: { title: string; children: ComponentChildren }) {
  return (
    <main class="alone">
      <img src="/icon.svg" alt="" width="40" height="40" />
      <h1>{props.title}</h1>
      {props.children}
    </main>
  )
}

function NoToken(props: { title: string }) {
  return (
    <Alone title={props.title}>
      <Note>This link has no invitation. Open the whole link that you got, or ask for a new one.</Note>
      <p>
        <a href="/sandboxes">Sign in</a>
      </p>
    </Alone>
  )
}

/** A form that ends with a password to choose, typed twice. */
function PasswordForm(props: { action: string; submit: (password: string) => Promise<void>; autoFocus?: boolean; children?: ComponentChildren }) {
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const { busy, error, run } = useAction()
  const form = useRefusedForm(error)
  const differs = again !== '' && again !== password
  return (
    <form
      ref={form}
      onSubmit={event => {
        event.preventDefault()
        if (password === again) void run(() => props.submit(password))
      }}
    >
      {props.children}
      <TextField
        label="Password"
        name="new-password"
        type="password"
        value={password}
        onInput={setPassword}
        autoComplete="new-password"
        required
        autoFocus={props.autoFocus ?? false}
      />
      <TextField
        label="The password again"
        name="new-password-again"
        type="password"
        value={again}
        onInput={setAgain}
        autoComplete="new-password"
        error={differs ? 'The two passwords are different.' : null}
        required
      />
      <Problem error={error} />
      <Button type="submit" kind="primary" busy={busy} disabled={differs}>
        {props.action}
      </Button>
    </form>
  )
}

/** The token of the address, which then leaves the address bar and the history. */
function takeHash(): string {
  const token = location.hash.slice(1)
  if (token !== '') history.replaceState(null, '', location.pathname)
  return token
}

/** A link that shows nothing: why, and the way to the sign-in. */
function Refused(props: { error: unknown }) {
  return (
    <>
      <Problem error={props.error} />
      <p>
        <a href="/sandboxes" onClick={() => sessionStorage.removeItem(KEPT_LINK)}>
          Go to the sandboxes
        </a>
      </p>
    </>
  )
}

function Welcome(props: { invite: Schemas['ShownInvite']; token: string }) {
  const { name, teams, expires_at: end } = props.invite
  return (
    <>
      <p>
        You are invited to sandlot on {location.hostname} as the user <strong>{name}</strong>. Choose a password. The link expires <Time at={end} />.
      </p>
      {teams.length > 0 && (
        <>
          <p>Your teams:</p>
          <ul>
            {teams.map(({ team, role }) => (
              <li key={team}>
                <strong>{team}</strong>, as a{role === 'owner' ? 'n' : ''} {role}
              </li>
            ))}
          </ul>
        </>
      )}
      <PasswordForm
        action="Set the password and sign in"
        autoFocus
        submit={async password => {
          await acceptInvite(props.token, password)
          navigate('/sandboxes', true)
        }}
      >
        <TextField label="Name" name="username" value={name} autoComplete="username" readOnly />
      </PasswordForm>
    </>
  )
}

export function Invite() {
  const title = 'Set your password'
  useTitle(title)
  const [token] = useState(takeHash)
  const [invite, setInvite] = useState<Schemas['ShownInvite'] | null>(null)
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    if (token !== '') api.post('/v1/invites/show', { body: { token } }).then(setInvite, setError)
  }, [])
  if (token === '') return <NoToken title={title} />
  return (
    <Alone title={title}>
      {error !== null ? <Refused error={error} /> : invite ? <Welcome invite={invite} token={token} /> : <Loading />}
    </Alone>
  )
}

function takeKept(): string {
  const token = takeHash()
  if (token === '') return sessionStorage.getItem(KEPT_LINK) ?? ''
  sessionStorage.setItem(KEPT_LINK, token)
  return token
}

function leave(): void {
  sessionStorage.removeItem(KEPT_LINK)
  navigate('/sandboxes', true)
}

/** Opens the team that somebody has just joined. */
function enter(team: string): void {
  chooseTeam(team)
  say(`You are a member of ${team}.`)
  leave()
}

type Link = Schemas['ShownLink']

/** For somebody who is signed in: the answer. */
function Answer(props: { link: Link; token: string; name: string }) {
  const { team } = props.link
  const { busy, error, run } = useAction()
  const accept = async (): Promise<void> => {
    await api.post('/v1/links/accept', { body: { token: props.token } })
    await loadMe()
    enter(team)
  }
  return (
    <>
      <p>
        You are signed in as <strong>{props.name}</strong>. The owners of the team see your name when you join.
      </p>
      <Problem error={error} />
      <div class="actions">
        <Button kind="primary" busy={busy} onClick={() => void run(accept)}>
          Join {team}
        </Button>
        <Button onClick={leave}>Not now</Button>
        <Button busy={busy} onClick={() => void run(signOut)}>
          Use another user
        </Button>
      </div>
    </>
  )
}

/** For everybody else: a user first. */
function Enter(props: { link: Link; token: string }) {
  const { team, sign_up: signsUp } = props.link
  const [name, setName] = useState('')
  return (
    <>
      <p>
        <a class="btn primary" href="/sign-in?return=%2Fjoin">
          Sign in to join
        </a>
      </p>
      {signsUp ? (
        <>
          <h2>Or create a user</h2>
          <PasswordForm
            action={`Create the user and join ${team}`}
            submit={async password => {
              await signUp(props.token, name, password)
              enter(team)
            }}
          >
            <TextField
              label="Name"
              name="username"
              value={name}
              onInput={setName}
              autoComplete="username"
              hint="Lower-case letters, digits and hyphens. You sign in with it."
              required
            />
          </PasswordForm>
        </>
      ) : (
        <Note>If you have no user here, ask the operator of this service for one. Then open the link again.</Note>
      )}
    </>
  )
}

export function Join() {
  const title = 'Join a team'
  useTitle(title)
  const [token] = useState(takeKept)
  const user = useStore(me)
  const [link, setLink] = useState<Link | null>(null)
  const [asked, setAsked] = useState(user !== null)
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    if (token === '') return
    api.post('/v1/links/show', { body: { token } }).then(setLink, setError)
    if (!user) loadMe().then(() => setAsked(true), () => setAsked(true))
  }, [])
  if (token === '') return <NoToken title={title} />
  return (
    <Alone title={title}>
      {error !== null && <Refused error={error} />}
      {(!link || !asked) && error === null && <Loading />}
      {link && asked && (
        <>
          <p>
            {link.made_by} invites you into the team <strong>{link.team}</strong> as a <strong>{link.role}</strong>:{' '}
            {link.role === 'viewer' ? 'you see lists, settings, logs and files of volumes, but cannot change them' : 'you can create and change sandboxes and other objects'}
            . The link expires <Time at={link.expires_at} />.
          </p>
          {user ? <Answer link={link} token={token} name={user.user.name} /> : <Enter link={link} token={token} />}
        </>
      )}
    </Alone>
  )
}
