// SPDX-License-Identifier: GPL-2.0-or-later
import { useState } from 'preact/hooks'
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

export function MetadataEditor(props: { sandbox: Sandbox; mayWrite: boolean; put: (sandbox: Sandbox) => void }) {
  const { sandbox } = props
  const [pairs, setPairs] = useState<Pair[] | null>(null)
  const all = Object.entries(sandbox.metadata)
  return (
    <section class="card" aria-label="Metadata">
      <div class="card-head">
        <h2>Metadata</h2>
        {props.mayWrite && (
          <Button small onClick={() => setPairs(all.map(([name, value]) => ({ name, value })))}>
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
      {pairs && (
        <FormDialog
          title="Metadata"
          action="Save"
          wide
          onClose={() => setPairs(null)}
          submit={async () => {
            const metadata = patchOf(sandbox.metadata, pairsOf(pairs) ?? {})
            props.put(await api.patch('/v1/sandboxes/{id}', { path: { id: sandbox.id }, body: { metadata: metadata as never } }))
            setPairs(null)
          }}
        >
          <Pairs
            legend="Metadata"
            nameLabel="Key"
            valueLabel="Value"
            add="Add metadata"
            pairs={pairs}
            onChange={setPairs}
          />
        </FormDialog>
      )}
    </section>
  )
}
