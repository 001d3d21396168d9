// SPDX-License-Identifier: GPL-2.0-or-later
import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../lib/errors'
import { formatSpan } from '../lib/format'
import { ownPath, returnPath, useTitle } from '../lib/router'
import { api, type Schemas } from '../lib/client'
import { hasPasskeys, signInByPasskey } from '../lib/passkeys'
import { signIn, signInByProxy } from '../lib/session'
import { Button, Note, Problem, TextField } from '../parts/basic'
import { useAction } from '../parts/dialog'

const NEEDS_CODE = 'second_factor_required'

/** Why the way over an identity provider failed, as the service says it behind the # of /sign-in. */
function providerError(): Error | null {
  if (location.pathname !== '/sign-in' || !location.hash) return null
  const words = new URLSearchParams(location.hash.slice(1))
  const message = words.get('message') ?? 'the provider gave no reason'
  return new ApiError(401, words.get('error') ?? '', message.slice(0, 300), null, words.get('request_id'))
}

function retrySentence(error: unknown): string | null {
  if (!(error instanceof ApiError) || error.status !== 429 || error.retryAfterS === null) return null
  return `Try again in ${formatSpan(error.retryAfterS)}.`
}

/** ended: somebody was signed in on this page, and the session is over; left: they have signed out. */
export function SignIn(props: { ended: boolean; left: boolean }) {
  useTitle('Sign in')
  const [ways, setWays] = useState<Schemas['LoginWays'] | null>(null)
  const [waysError, setWaysError] = useState<unknown>(null)
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [needsCode, setNeedsCode] = useState(false)
  const [failed] = useState(providerError)
  const { busy, error, run } = useAction()

  useEffect(() => {
    api.get('/v1/login').then(answer => {
      setWays(answer)
      if (answer.header && !props.left && !failed) void run(signInByProxy)
    }, setWaysError)
  }, [])
  const submit = (event: Event): void => {
    event.preventDefault()
    void run(async () => {
      try {
        await signIn(name, password, code)
      } catch (failure) {
        if (failure instanceof ApiError && failure.code === NEEDS_CODE && !needsCode) {
          setNeedsCode(true)
          return
        }
        throw failure
      }
    })
  }
  const wait = retrySentence(error)
  const back = encodeURIComponent(ownPath(returnPath(location.pathname) + location.search))
  return (
    <main class="alone">
      <img src="/icon.svg" alt="" width="40" height="40" />
      <h1>Sign in to sandlot</h1>
      {props.ended && <Note>Your sign-in has ended. Sign in again to continue.</Note>}
      <Problem error={waysError ?? error ?? failed} />
      {wait && <Note>{wait}</Note>}
      {(!ways || ways.password) && (
        <form onSubmit={submit}>
          <TextField label="Name" name="username" value={name} onInput={setName} autoComplete="username" required autoFocus />
          <TextField
            label="Password"
            name="password"
            type="password"
            value={password}
            onInput={setPassword}
            autoComplete="current-password"
            required
          />
          {needsCode && (
            <TextField
              label="Code"
              name="code"
              value={code}
              onInput={setCode}
              autoComplete="one-time-code"
              hint="Six digits from your authenticator app, or a recovery code."
              required
              autoFocus
              mono
            />
          )}
          <Button type="submit" kind="primary" busy={busy}>
            Sign in
          </Button>
        </form>
      )}
      {ways?.password && hasPasskeys && (
        <p>
          <Button busy={busy} onClick={() => void run(signInByPasskey)}>
            Sign in with a passkey
          </Button>
        </p>
      )}
      {ways?.oidc && (
        <p>
          <a class="btn" href={`/v1/login/oidc?return=${back}`} target="_self">
            Sign in with {ways.oidc.name}
          </a>
        </p>
      )}
      {ways?.header && (
        <p>
          <Button busy={busy} onClick={() => void run(signInByProxy)}>
            Sign in with the user of this site
          </Button>
        </p>
      )}
      {ways && !ways.password && !ways.oidc && !ways.header && (
        <Note>You cannot sign in here with a browser. Ask the operator of this service.</Note>
      )}
    </main>
  )
}
