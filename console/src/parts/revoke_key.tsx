// SPDX-License-Identifier: GPL-2.0-or-later
// The dialog that revokes an API key or an SSH key, and the keys that it created.
import { useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { usePoll } from '../lib/poll'
import { Check, Problem } from './basic'
import { FormDialog, say } from './dialog'

export type AnyKey = Schemas['Key'] | Schemas['SshKey']

/** A key without a name is called by its fingerprint or id. */
export const called = (key: { id: string; name: string; fingerprint?: string }): string => key.name || key.fingerprint || key.id

const isSsh = (key: AnyKey): boolean => 'fingerprint' in key

async function createdBy(key: AnyKey, signal: AbortSignal): Promise<Schemas['KeyName'][]> {
  const options = { path: { id: key.id }, signal }
  const answer = isSsh(key) ? await api.get('/v1/ssh_keys/{id}/created', options) : await api.get('/v1/keys/{id}/created', options)
  return answer.keys
}

async function revoke(key: AnyKey, all: boolean): Promise<void> {
  const options = { path: { id: key.id }, query: all ? { with_created: 'true' as const } : {} }
  await (isSsh(key) ? api.delete('/v1/ssh_keys/{id}', options) : api.delete('/v1/keys/{id}', options))
}

export function RevokeDialog(props: { of: AnyKey; onClose: () => void; onDone: () => void }) {
  const key = props.of
  const [all, setAll] = useState(false)
  const loaded = usePoll(signal => createdBy(key, signal), null, [key.id])
  const created = loaded.data ?? []
  return (
    <FormDialog
      title={`Revoke ${called(key)}?`}
      action="Revoke"
      danger
      disabled={loaded.loading}
      onClose={props.onClose}
      submit={async () => {
        await revoke(key, all)
        say(all ? 'The keys are revoked.' : isSsh(key) ? 'The SSH key is revoked.' : 'The key is revoked.')
        props.onDone()
      }}
    >
      <p>{isSsh(key) ? 'Its SSH sessions end within a few seconds.' : 'sandlot then refuses programs that use the key.'}</p>
      <Problem error={loaded.error} />
      {created.length > 0 && (
        <>
          <p>With this key, other keys were created: {created.map(called).join(', ')}. If the key was stolen, revoke them too.</p>
          <Check label="Also revoke the keys that it created" checked={all} onChange={setAll} />
        </>
      )}
    </FormDialog>
  )
}
