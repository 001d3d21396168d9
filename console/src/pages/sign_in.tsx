// SPDX-License-Identifier: GPL-2.0-or-later
import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../lib/errors'
import { formatSpan } from '../lib/format'
import { ownPath, returnPath, useTitle } from '../lib/router'
import { api, type Schemas } from '../lib/client'
import { hasPasskeys, signInByPasskey } from '../lib/passkeys'
import { signIn, signInByProxy } from '../lib/session'
import { Button, Note, Problem, TextField } from '../parts/basic'
import { Dialog, useAction } from '../parts/dialog'

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

/** left: the user has signed out; isCovering: a page is open behind it. */
function Ways(props: { left: boolean; isCovering: boolean }) {
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
    <>
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
          <a class="btn" href={`/v1/login/oidc?return=${back}`} target={props.isCovering ? '_blank' : '_self'}>
            Sign in with {ways.oidc.name}
          </a>
          {props.isCovering && ' It opens a new tab. Come back to this one when you have signed in.'}
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
    </>
  )
}

const TITLE = 'Sign in to sandlot'

export function SignIn(props: { left: boolean }) {
  useTitle('Sign in')
  return (
    <main class="alone">
      <img src="/icon.svg" alt="" width="40" height="40" />
      <h1>{TITLE}</h1>
      <Ways left={props.left} isCovering={false} />
    </main>
  )
}

/** The session of an open page is over. The page stays as it is for the same user. */
export function SignInAgain() {
  return (
    <Dialog title={TITLE} covers staysOnEscape onClose={() => undefined}>
      <Note>Your sign-in has ended. Sign in again to continue.</Note>
      <Ways left={false} isCovering />
    </Dialog>
  )
}
