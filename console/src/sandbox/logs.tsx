// SPDX-License-Identifier: GPL-2.0-or-later
// The output of a sandbox's commands, as it comes; searched and downloaded here.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { saveAs } from '../lib/dataplane'
import { formatExact, plural } from '../lib/format'
import { usePoll } from '../lib/poll'
import type { TabProps } from '../pages/sandbox'
import { Button, Loading, Problem } from '../parts/basic'

type Entry = Schemas['LogEntry']

const LOOK_MS = 2500
const PAGE = 1000
const KEPT = 5000

/** The output of an entry as text; bytes that are no UTF-8 are replaced. */
export function textOf(entry: Pick<Entry, 'data' | 'encoding'>): string {
  if (entry.encoding !== 'base64') return entry.data
  const bytes = Uint8Array.from(atob(entry.data), letter => letter.charCodeAt(0))
  return new TextDecoder().decode(bytes)
}

/** Returns the entries that contain the text; an empty text returns all entries. */
export function searched(entries: Entry[], text: string): Entry[] {
  const wanted = text.toLowerCase()
  return wanted === '' ? entries : entries.filter(one => `${one.pid} ${one.command} ${textOf(one)}`.toLowerCase().includes(wanted))
}

function useEntries(id: string, live: boolean): { entries: Entry[]; error: unknown; loading: boolean } {
  const kept = useRef<Entry[]>([])
  const polled = usePoll(
    async signal => {
      const last = kept.current[kept.current.length - 1]?.position
      const query = last === undefined ? { limit: PAGE, order: 'desc' as const } : { limit: PAGE, after: last }
      const { logs } = await api.get('/v1/sandboxes/{id}/logs', { path: { id }, query, signal })
      if (last === undefined) logs.reverse()
      kept.current = [...kept.current, ...logs].slice(-KEPT)
      return kept.current
    },
    live ? LOOK_MS : null,
    [id, live],
  )
  return { entries: polled.data ?? kept.current, error: polled.error, loading: polled.loading && kept.current.length === 0 }
}

export function Logs(props: TabProps) {
  const { sandbox } = props
  const { entries, error, loading } = useEntries(sandbox.id, sandbox.state === 'ready')
  const [text, setText] = useState('')
  const shown = useMemo(() => searched(entries, text), [entries, text])
  const end = useRef<HTMLPreElement>(null)
  const follows = useRef(true)
  useEffect(() => {
    const element = end.current
    if (element && follows.current) element.scrollTop = element.scrollHeight
  }, [shown])
  const download = (): void =>
    saveAs(new Blob(shown.map(textOf), { type: 'text/plain' }), `${sandbox.name ?? sandbox.id}.log`)
  return (
    <section class="card" aria-label="Logs">
      <div class="card-head">
        <h2>Logs</h2>
        <Button small icon="down" disabled={shown.length === 0} onClick={download}>
          Download
        </Button>
      </div>
      <form class="filters" role="search" aria-label="Logs" onSubmit={event => event.preventDefault()}>
        <label class="grow">
          <span>Search</span>
          <input
            type="search"
            value={text}
            placeholder="Text, command or process"
            spellcheck={false}
            autoComplete="off"
            onInput={event => setText(event.currentTarget.value)}
          />
        </label>
        <p class="count" role="status">
          {loading ? '' : plural(shown.length, 'entry', 'entries')}
        </p>
      </form>
      <Problem error={error} />
      {loading && !error && <Loading />}
      {!loading && shown.length === 0 && (
        <p class="muted">{text === '' ? 'No output yet. The log does not have the output of terminals.' : 'No entry matches.'}</p>
      )}
      {shown.length > 0 && (
        <pre
          class="code log"
          ref={end}
          tabIndex={0}
          aria-label="Output"
          onScroll={event => {
            const { scrollTop, clientHeight, scrollHeight } = event.currentTarget
            follows.current = scrollTop + clientHeight > scrollHeight - 8
          }}
        >
          {shown.map(one => (
            <span key={one.position} class={one.stream} title={`${formatExact(one.at)}, process ${one.pid}: ${one.command}`}>
              {textOf(one)}
            </span>
          ))}
        </pre>
      )}
    </section>
  )
}
