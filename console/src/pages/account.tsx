// SPDX-License-Identifier: GPL-2.0-or-later
import { useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { shorten } from '../lib/format'
import { usePoll } from '../lib/poll'
import { loadMe, useMe } from '../lib/session'
import { ACTIONS, Button, Copy, Loading, Page, Problem, SecretText, Table, TextField, TimeCell, UserName } from '../parts/basic'
import { lazy } from '../parts/lazy'
import { Passkeys } from '../parts/passkeys'
import { Dialog, FormDialog, ask, say, useAction, useRefusedForm } from '../parts/dialog'

const QrCode = lazy(() => import('../parts/qr_code').then(module => module.QrCode))

function Password() {
  const { user } = useMe()
  const [old, setOld] = useState('')
  const [next, setNext] = useState('')
  const [again, setAgain] = useState('')
  const { busy, error, run } = useAction()
  const form = useRefusedForm(error)
  const differs = again !== '' && again !== next
  return (
    <section class="card" aria-label="Password">
      <h2>Password</h2>
      <form
        ref={form}
        onSubmit={event => {
          event.preventDefault()
          if (next !== again) return
          void run(async () => {
            await api.put('/v1/me/password', { body: { old, new: next } })
            setOld('')
            setNext('')
            setAgain('')
            say('The password is changed, and your other sign-ins have ended. Passkeys and keys stay valid.')
          })
        }}
      >
        <UserName value={user.name} />
        <TextField label="Current password" type="password" required autoComplete="current-password" value={old} onInput={setOld} />
        <TextField label="New password" type="password" required autoComplete="new-password" value={next} onInput={setNext} />
        <TextField
          label="The password again"
          type="password"
          required
          autoComplete="new-password"
          value={again}
          onInput={setAgain}
          error={differs ? 'The two passwords are different.' : null}
        />
        <Problem error={error} />
        <Button type="submit" busy={busy} disabled={differs}>
          Change the password
        </Button>
      </form>
    </section>
  )
}

/** "Chromium on Linux", as far as a browser's own words tell. */
export function browserOf(agent: string): string {
  const name = [
    [/Edg\//, 'Edge'],
    [/Firefox\//, 'Firefox'],
    [/Chrom(e|ium)\//, 'Chrome or Chromium'],
    [/Safari\//, 'Safari'],
  ].find(([pattern]) => (pattern as RegExp).test(agent))?.[1]
  const system = /Android|iPhone|iPad|Windows|Mac OS X|Linux|CrOS/.exec(agent)?.[0]
  if (name === undefined) return shorten(agent, 60)
  return system === undefined ? String(name) : `${String(name)} on ${system}`
}

type Login = Schemas['LoginSession']
type Secret = Schemas['Totp']

function ConfirmDialog(props: { made: Secret; onClose: () => void; onDone: (codes: string[]) => void }) {
  const [code, setCode] = useState('')
  return (
    <FormDialog
      title="Second factor"
      action="Confirm"
      wide
      onClose={props.onClose}
      submit={async () => {
        props.onDone((await api.post('/v1/me/totp/confirm', { body: { code } })).recovery_codes)
      }}
    >
      <p>Scan this with your authenticator app. Or enter the secret there, or open the link on the device with the app.</p>
      <QrCode text={props.made.url} label="QR code of the secret for an authenticator app" />
      <SecretText text={props.made.secret} what="the secret" kind="totp" />
      <p class="secret">
        <a class="long" href={props.made.url} target="_self">
          {props.made.url}
        </a>
      </p>
      <TextField label="Code" member="code" mono required autoFocus inputMode="numeric" autoComplete="one-time-code" value={code} onInput={setCode} hint="The present code of your authenticator app." />
    </FormDialog>
  )
}

function SecondFactor() {
  const { user, second_factor: isOn } = useMe()
  const [made, setMade] = useState<Secret | null>(null)
  const [codes, setCodes] = useState<string[] | null>(null)
  const [removing, setRemoving] = useState(false)
  const [password, setPassword] = useState('')
  const { busy, error, run } = useAction()
  return (
    <section class="card" aria-label="Second factor">
      <h2>Second factor</h2>
      <p>
        {isOn
          ? 'To sign in, you need the password and a code of your authenticator app.'
          : 'With a second factor, you need the password and a code of your authenticator app to sign in.'}
      </p>
      <Problem error={error} />
      <div class="actions">
        {isOn ? (
          <Button onClick={() => setRemoving(true)}>Remove it</Button>
        ) : (
          <Button busy={busy} onClick={() => void run(async () => setMade(await api.post('/v1/me/totp')))}>
            Set up an authenticator app
          </Button>
        )}
      </div>
      {made && (
        <ConfirmDialog
          made={made}
          onClose={() => setMade(null)}
          onDone={list => {
            setMade(null)
            setCodes(list)
            void loadMe()
          }}
        />
      )}
      {codes && (
        <Dialog title="Recovery codes" onClose={() => setCodes(null)} staysOnEscape>
          <p>You can sign in once with each code if you lose the authenticator app. The console shows the codes only now.</p>
          <pre class="code" tabIndex={0} data-secret="recovery">
            {codes.join('\n')}
          </pre>
          <div class="actions end">
            <Copy text={codes.join('\n')} what="the recovery codes" />
            <Button kind="primary" onClick={() => setCodes(null)}>
              I have stored them
            </Button>
          </div>
        </Dialog>
      )}
      {removing && (
        <FormDialog
          title="Remove the second factor?"
          action="Remove"
          danger
          onClose={() => setRemoving(false)}
          submit={async () => {
            await api.delete('/v1/me/totp', { body: { password } })
            setRemoving(false)
            setPassword('')
            await loadMe()
            say('The second factor is removed.')
          }}
        >
          <UserName value={user.name} />
          <TextField label="Password" member="password" type="password" required autoFocus autoComplete="current-password" value={password} onInput={setPassword} />
        </FormDialog>
      )}
    </section>
  )
}

function Sessions() {
  const polled = usePoll(async signal => (await api.get('/v1/logins', { signal })).items, 20_000, [])
  const end = (login: Login): void =>
    ask('End this sign-in?', 'That browser must sign in again.', 'End', async () => {
      await api.delete('/v1/logins/{id}', { path: { id: login.id } })
      polled.refresh()
    })
  return (
    <section class="card" aria-label="Sign-ins">
      <h2>Where you are signed in</h2>
      <Problem error={polled.error} />
      {polled.loading && <Loading />}
      {polled.data && (
        <Table
          label="Sign-ins"
          dense
          head={['Browser', 'Address', 'Last seen', 'Ends', ACTIONS]}
        >
          {polled.data.map(login => (
            <tr key={login.id}>
              <th scope="row" title={login.user_agent}>
                {browserOf(login.user_agent)}
                {login.current && <span class="muted"> (this one)</span>}
              </th>
              <td>{login.address}</td>
              <TimeCell at={login.last_seen_at} />
              <TimeCell at={login.expires_at} />
              <td class="row-actions">
                {!login.current && (
                  <Button small label={`End the sign-in of ${browserOf(login.user_agent)} at ${login.address}`} onClick={() => end(login)}>
                    End
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

/** Teams whose owners invite this user. */
function Invitations() {
  const polled = usePoll(async signal => (await api.get('/v1/invitations', { signal })).items, 20_000, [])
  const { busy, error, run } = useAction()
  const answer = (team: string, accepts: boolean): void =>
    void run(async () => {
      const path = { slug: team }
      if (accepts) await api.post('/v1/invitations/{slug}/accept', { path })
      else await api.post('/v1/invitations/{slug}/decline', { path })
      say(accepts ? `You are a member of ${team}.` : `The invitation of ${team} is declined.`)
      polled.refresh()
      if (accepts) await loadMe()
    })
  if (!polled.data?.length) return null
  return (
    <section class="card" aria-label="Invitations">
      <h2>Invitations</h2>
      <p class="muted">If you accept, the owners of the team see the keys that you use in it, and your lists show the team’s sandboxes, volumes and templates.</p>
      <Problem error={error} />
      <Table label="Invitations" head={['Team', 'Role', 'Invited by', 'Expires', ACTIONS]}>
        {polled.data.map(one => (
          <tr key={one.team}>
            <th scope="row" class="long">{one.team}</th>
            <td>{one.role}</td>
            <td class="long">{one.invited_by}</td>
            <TimeCell at={one.expires_at} />
            <td class="row-actions">
              <Button small busy={busy} label={`Accept the invitation of ${one.team}`} onClick={() => answer(one.team, true)}>
                Accept
              </Button>
              <Button small busy={busy} label={`Decline the invitation of ${one.team}`} onClick={() => answer(one.team, false)}>
                Decline
              </Button>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

/** For a user without a password, in place of what needs one. */
function OtherWay() {
  const { user, session } = useMe()
  return (
    <section class="card" aria-label="How you sign in">
      <h2>How you sign in</h2>
      <p>
        {session?.method === 'header' ? 'The proxy in front of sandlot signs you in' : 'You sign in with an identity provider'}, and you
        have no password here. Set up passkeys and a second factor there.
      </p>
      <p>
        To be able to sign in with a password too, ask an operator for a link that sets a password (<code>sandlotctl user invite {user.name}</code>).
        Then you can add passkeys and a second factor here.
      </p>
    </section>
  )
}

export function Account() {
  const { user, password } = useMe()
  return (
    <Page title={user.name}>
      <Invitations />
      <Sessions />
      {password !== false ? (
        <>
          <Passkeys />
          <div class="columns">
            <Password />
            <SecondFactor />
          </div>
        </>
      ) : (
        <OtherWay />
      )}
    </Page>
  )
}
