// SPDX-License-Identifier: GPL-2.0-or-later
import { useMe } from '../lib/session'
import { Time, TextField, UserName } from './basic'

/** With the user's password, a new key does not end with this sign-in. A user without one has to have just signed in. */
export function KeyPassword(props: { value: string; onInput: (value: string) => void }) {
  const { user, password } = useMe()
  if (password === false)
    return (
      <p class="hint">
        If you signed in less than five minutes ago, the key does not end with this sign-in. Otherwise sign out and in again first.
      </p>
    )
  return (
    <>
      <UserName value={user.name} />
      <TextField
        label="Your password"
        member="password"
        type="password"
        autoComplete="current-password"
        value={props.value}
        onInput={props.onInput}
        hint="Without your password, the key ends with this sign-in."
      />
    </>
  )
}

/** When a key ends: at a time, with the sign-in that created it, or never. */
export function ExpiryCell(props: { of: { expires_at: string | null; ends_with_session: boolean } }) {
  const { expires_at: at, ends_with_session: isBound } = props.of
  return (
    <td class="nowrap">
      {isBound && (at ? 'with a sign-in, or ' : <span class="muted">with a sign-in</span>)}
      {(at || !isBound) && <Time at={at} none="never" />}
    </td>
  )
}
