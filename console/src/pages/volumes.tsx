// SPDX-License-Identifier: GPL-2.0-or-later
import { useMemo, useState } from 'preact/hooks'
import { ApiError, api, type Schemas } from '../lib/client'
import { messageOf } from '../lib/errors'
import { FileBrowser } from '../files/browser'
import { volumeFiles } from '../files/store'
import { useIdempotencyKey } from '../lib/idempotency'
import { useTeamList } from '../lib/pages'
import { usePoll } from '../lib/poll'
import { navigate, useTitle } from '../lib/router'
import { useMayWrite, useTeam, useTeamOf } from '../lib/session'
import { ACTIONS, Button, Empty, Id, Loading, Named, NewButton, Page, Problem, TextField, TimeCell } from '../parts/basic'
import { FormDialog, ask, say } from '../parts/dialog'
import { Rows } from '../parts/rows'

type Volume = Schemas['Volume']

function CreateDialog(props: { team: string; onClose: () => void; onMade: (volume: Volume) => void }) {
  const [name, setName] = useState('')
  const keyOf = useIdempotencyKey()
  return (
    <FormDialog
      title="New volume"
      action="Create"
      onClose={props.onClose}
      submit={async () => {
        const body = { team: props.team, name }
        props.onMade(await api.post('/v1/volumes', { body, idempotencyKey: keyOf(body) }))
        props.onClose()
      }}
    >
      <TextField
        label="Name"
        member="name"
        mono
        required
        autoFocus
        value={name}
        onInput={setName}
        hint="Lower-case letters, digits, underscores and hyphens. Sandboxes mount the volume by this name."
      />
    </FormDialog>
  )
}

function Attached(props: { volume: Volume }) {
  const { attached_to: ids, attached_names: names } = props.volume
  if (ids.length === 0) return <span class="muted">no sandbox</span>
  return (
    <>
      {ids.map((id, index) => (
        <span key={id} class="attached">
          <Named name={names[index] === id ? null : names[index]} id={id} href={`/sandboxes/${id}`} />
        </span>
      ))}
    </>
  )
}

function remove(volume: Volume, done: () => void): void {
  ask(`Delete the volume ${volume.name}?`, 'This deletes all its files. You cannot undo this.', 'Delete', async () => {
    await api.delete('/v1/volumes/{id}', { path: { id: volume.id } })
    say(`The volume ${volume.name} is deleted.`)
    done()
  })
}

export function Volumes() {
  const team = useTeam()
  const mayWrite = useMayWrite()
  const [making, setMaking] = useState(false)
  const list = useTeamList<Volume>(async (query, signal) => {
    const answer = await api.get('/v1/volumes', { query, signal })
    return { rows: answer.volumes, next: answer.next_token }
  })
  const create = mayWrite && <NewButton what="volume" onClick={() => setMaking(true)} />
  return (
    <Page title="Volumes" actions={create}>
      <Rows
        of={list}
        none={[
          'No volumes yet',
          'A volume keeps files outside sandboxes. Several sandboxes can mount it, and it stays when they are deleted.',
        ]}
        label="Volumes"
        head={['Name', 'Id', 'Size', 'Attached to', 'Created', ACTIONS]}
      >
        {list.rows.map(volume => (
          <tr key={volume.id}>
            <th scope="row" class="long">
              <a href={`/volumes/${volume.id}`}>{volume.name}</a>
            </th>
            <td>
              <Id value={volume.id} />
            </td>
            <td class="number nowrap">{volume.size_gb} GiB</td>
            <td>
              <Attached volume={volume} />
            </td>
            <TimeCell at={volume.created_at} />
            <td class="row-actions">
              {mayWrite && (
                <Button small label={`Delete ${volume.name}`} onClick={() => remove(volume, () => list.remove(volume.id))}>
                  Delete
                </Button>
              )}
            </td>
          </tr>
        ))}
      </Rows>
      {making && <CreateDialog team={team.slug} onClose={() => setMaking(false)} onMade={list.put} />}
    </Page>
  )
}

export function VolumePage(props: { parts: Record<string, string> }) {
  const id = props.parts['id'] ?? ''
  const polled = usePoll(signal => api.get('/v1/volumes/{id}', { path: { id }, signal }), 8000, [id])
  const volume = polled.data
  const store = useMemo(() => volumeFiles(id), [id])
  const may = useMayWrite(volume?.team)
  useTeamOf(volume?.team)
  useTitle(volume ? `Volume ${volume.name}` : 'Volume')
  if (polled.error instanceof ApiError && polled.error.status === 404) {
    return (
      <Empty title="No such volume">
        <p>{messageOf(polled.error)}</p>
        <a href="/volumes">Go to the volumes</a>
      </Empty>
    )
  }
  if (!volume) return polled.error ? <Problem error={polled.error} /> : <Loading />
  const busy = volume.attached_to.length > 0
  return (
    <>
      <header class="page-head">
        <div>
          <p class="crumbs">
            <a href="/volumes">Volumes</a>
          </p>
          <h1>{volume.name}</h1>
          <p class="status">
            <Id value={volume.id} /> <span class="muted">{volume.size_gb} GiB · attached to</span>{' '}
            <Attached volume={volume} />
          </p>
        </div>
        {may && (
          <div class="actions">
            <Button kind="danger" icon="trash" onClick={() => remove(volume, () => navigate('/volumes'))}>
              Delete
            </Button>
          </div>
        )}
      </header>
      {busy && (
        <p class="note">While a running sandbox has mounted the volume, you can read its files here, but not change them.</p>
      )}
      <FileBrowser store={store} mayWrite={may} />
    </>
  )
}
