// SPDX-License-Identifier: GPL-2.0-or-later
import { useState } from 'preact/hooks'
import { changeRecord } from '../lib/changes'
import { api, type Schemas } from '../lib/client'
import { Button, Fact, Facts } from '../parts/basic'
import { FormDialog } from '../parts/dialog'
import { Pairs, pairsOf, type Pair } from '../parts/pairs'

type Sandbox = Schemas['Sandbox']

/** The change from one set to another, as a merge patch: what is gone is null. */
export function patchOf(before: Record<string, string>, after: Record<string, string>): Record<string, string | null> {
  const patch: Record<string, string | null> = {}
  for (const key of Object.keys(before)) if (!(key in after)) patch[key] = null
  for (const [key, value] of Object.entries(after)) if (before[key] !== value) patch[key] = value
  return patch
}

const rowsOf = (metadata: Record<string, string>): Pair[] => Object.entries(metadata).map(([name, value]) => ({ name, value }))

export function MetadataEditor(props: { sandbox: Sandbox; mayWrite: boolean; put: (sandbox: Sandbox) => void }) {
  const { sandbox } = props
  const [edit, setEdit] = useState<{ loaded: Sandbox; pairs: Pair[] } | null>(null)
  const all = Object.entries(sandbox.metadata)
  const path = { id: sandbox.id }
  const save = async (loaded: Sandbox, pairs: Pair[]): Promise<void> => {
    const metadata = patchOf(loaded.metadata, pairsOf(pairs) ?? {})
    const changed = await changeRecord({
      loaded,
      shown: one => Object.fromEntries(Object.keys(metadata).map(key => [key, one.metadata[key] ?? ''])),
      read: () => api.get('/v1/sandboxes/{id}', { path }),
      write: record => api.patch('/v1/sandboxes/{id}', { path, body: { metadata: metadata as never }, ifMatch: record }),
      load: newer => {
        const merged = Object.entries({ ...newer.metadata, ...metadata }).filter(([, value]) => value !== null)
        setEdit({ loaded: newer, pairs: rowsOf(Object.fromEntries(merged) as Record<string, string>) })
      },
    })
    props.put(changed)
    setEdit(null)
  }
  return (
    <section class="card" aria-label="Metadata">
      <div class="card-head">
        <h2>Metadata</h2>
        {props.mayWrite && (
          <Button small onClick={() => setEdit({ loaded: sandbox, pairs: rowsOf(sandbox.metadata) })}>
            Edit metadata
          </Button>
        )}
      </div>
      {all.length === 0 && <p class="muted">None. Metadata are your own names and values, with which you find the sandbox again.</p>}
      <Facts>
        {all.map(([key, value]) => (
          <Fact key={key} name={key}>
            {value}
          </Fact>
        ))}
      </Facts>
      {edit && (
        <FormDialog title="Metadata" action="Save" wide onClose={() => setEdit(null)} submit={() => save(edit.loaded, edit.pairs)}>
          <Pairs
            legend="Metadata"
            nameLabel="Key"
            valueLabel="Value"
            add="Add metadata"
            pairs={edit.pairs}
            onChange={pairs => setEdit({ ...edit, pairs })}
          />
        </FormDialog>
      )}
    </section>
  )
}
