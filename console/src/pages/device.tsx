// SPDX-License-Identifier: GPL-2.0-or-later
// A program that logs in shows a code, which a signed-in user confirms here.
import { useEffect, useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { useMe } from '../lib/session'
import { Button, Note, Page, Problem, TextField, Time } from '../parts/basic'
import { useAction } from '../parts/dialog'
import { KeyPassword } from '../parts/key_password'

type Waiting = Schemas['Device']

function Question(props: { waiting: Waiting; onDone: (approved: boolean) => void }) {
  const { user } = useMe()
  const { busy, error, run } = useAction()
  const { waiting } = props
  const [password, setPassword] = useState('')
  const answer = (approve: boolean): void =>
    void run(async () => {
      await api.post('/v1/devices/{code}', { path: { code: waiting.user_code }, body: { approve, ...(password ? { password } : {}) } })
      props.onDone(approve)
    })
  return (
    <section class="card" aria-label="Login">
      <h2>Let {waiting.client_name} in?</h2>
      <p>
        The program shows the code <code>{waiting.user_code}</code>. It asked from {waiting.address}, <Time at={waiting.created_at} />. If
        you allow the login, the program gets its own key, with the rights of {user.name}. You can revoke the key on the page “Keys”.
      </p>
      <p>Refuse it if you did not just run “sandlot login” yourself.</p>
      <Problem error={error} />
      <KeyPassword value={password} onInput={setPassword} />
      <div class="actions">
        <Button kind="primary" busy={busy} onClick={() => answer(true)}>
          Allow the login
        </Button>
        <Button busy={busy} onClick={() => answer(false)}>
          Refuse
        </Button>
      </div>
    </section>
  )
}

export function Device() {
  const [code, setCode] = useState(() => (new URLSearchParams(location.search).get('code') ?? '').slice(0, 16))
  const [waiting, setWaiting] = useState<Waiting | null>(null)
  const [done, setDone] = useState<boolean | null>(null)
  const { busy, error, run } = useAction()
  const look = (): void =>
    void run(async () => {
      setDone(null)
      setWaiting(await api.get('/v1/devices/{code}', { path: { code: code.trim() } }))
    })
  useEffect(() => {
    if (code) look()
  }, [])
  return (
    <Page title="Confirm the login of a program">
      {done !== null && (
        <Note>{done ? 'The program has its key; you can close this page.' : 'You refused the login.'}</Note>
      )}
      <Problem error={error} />
      {waiting ? (
        <Question
          waiting={waiting}
          onDone={approved => {
            setWaiting(null)
            setCode('')
            setDone(approved)
          }}
        />
      ) : (
        <form
          class="card"
          onSubmit={event => {
            event.preventDefault()
            look()
          }}
        >
          <TextField label="Code" mono required autoFocus autoComplete="off" value={code} onInput={setCode} hint="The code that “sandlot login” shows." />
          <Button type="submit" kind="primary" busy={busy}>
            Continue
          </Button>
        </form>
      )}
    </Page>
  )
}
