// SPDX-License-Identifier: GPL-2.0-or-later
// What was done to one thing, or to all things of a team: its audit log.
import { useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { saveAs } from '../lib/dataplane'
import { useList } from '../lib/pages'
import { Button, Named, Problem, TimeCell } from './basic'
import { say, useAction } from './dialog'
import { Rows } from './rows'

type Entry = Schemas['AuditEntry']

const WHO: Record<Entry['actor']['kind'], string> = {
  key: 'with a key',
  ssh_key: 'over SSH',
  session: 'in the console',
  operator: 'operator',
  service: 'service',
}

const whoOf = (actor: Entry['actor']): string => actor.user ?? actor.id

/** What has ended is its end alone; a begin stands by itself while the act is under way, or was cut off. */
function oneRowAnAct(entries: Entry[]): Entry[] {
  const ended = new Set(entries.map(entry => entry.begun_id))
  return entries.filter(entry => !ended.has(entry.id))
}

const resultOf = (entry: Entry): string => (entry.error === null ? entry.result : `${entry.result}: ${entry.error}`)

interface Filter {
  action?: string
  actor?: string
  resource?: string
  since?: string
}

const FIELDS: [keyof Filter, string, string, string][] = [
  ['action', 'Action', 'search', 'sandbox.create'],
  ['resource', 'Object', 'search', 'Id, slug or member'],
  ['actor', 'By', 'search', 'User or id of a key'],
  ['since', 'Since', 'date', ''],
]

/** Words of a form as a filter: a day begins where the viewer is. */
function filterOf(form: HTMLFormElement): Filter {
  const filter: Filter = {}
  for (const [name] of FIELDS) {
    const value = String(new FormData(form).get(name) ?? '').trim()
    if (value !== '') filter[name] = name === 'since' ? new Date(`${value}T00:00`).toISOString() : value
  }
  return filter
}

const EXPORT_PAGE = 200
const EXPORT_MAX = 50_000

/** Saves what the filter finds, newest first, an entry a line. */
async function saveAll(team: string, filter: Filter): Promise<void> {
  const lines: string[] = []
  let token: string | undefined
  do {
    const query = { team, limit: EXPORT_PAGE, ...filter, ...(token ? { next_token: token } : {}) }
    const answer = await api.get('/v1/audit', { query })
    for (const entry of answer.items) lines.push(`${JSON.stringify(entry)}\n`)
    token = answer.next_token
  } while (token && lines.length < EXPORT_MAX)
  saveAs(new Blob(lines, { type: 'application/jsonl' }), `${team}-activity.jsonl`)
  if (token) say(`The file has the newest ${EXPORT_MAX} entries. Search by date for earlier ones.`)
}

function Search(props: { team: string; filter: Filter; onSearch: (filter: Filter) => void }) {
  const { busy, error, run } = useAction()
  return (
    <>
      <form
        class="filters"
        role="search"
        aria-label="Activity"
        onSubmit={event => {
          event.preventDefault()
          props.onSearch(filterOf(event.currentTarget))
        }}
      >
        {FIELDS.map(([name, words, type, placeholder]) => (
          <label key={name}>
            <span>{words}</span>
            <input name={name} type={type} max={type === 'date' ? '9999-12-31' : undefined} placeholder={placeholder} spellcheck={false} autoComplete="off" />
          </label>
        ))}
        <Button type="submit" icon="search">
          Search
        </Button>
        <Button icon="down" busy={busy} onClick={() => void run(() => saveAll(props.team, props.filter))}>
          Export
        </Button>
      </form>
      <Problem error={error} />
    </>
  )
}

/** Of one thing, or of a whole team with a search and an export. */
export function Activity(props: { team: string; resource?: string }) {
  const { team, resource } = props
  const [filter, setFilter] = useState<Filter>(resource ? { resource } : {})
  const list = useList<Entry>(
    async (token, signal) => {
      const query = { team, limit: 20, ...filter, ...(token ? { next_token: token } : {}) }
      const answer = await api.get('/v1/audit', { query, signal })
      return { rows: answer.items, next: answer.next_token }
    },
    10_000,
    [team, JSON.stringify(filter)],
  )
  return (
    <section class="card" aria-label="Activity">
      <h2>Activity</h2>
      {!resource && <Search team={team} filter={filter} onSearch={setFilter} />}
      <Rows
        of={list}
        none={Object.keys(filter).length > 0 && !resource ? 'No entry matches.' : 'There is no activity yet.'}
        label="Activity"
        head={['Time', 'Action', ...(!resource ? ['Object'] : []), 'By', 'Address', 'Result']}
      >
        {oneRowAnAct(list.rows).map(entry => (
          <tr key={entry.id}>
            <TimeCell at={entry.at} />
            <th scope="row">{entry.action}</th>
            {!resource && (
              <td class="long">
                <Named
                  name={entry.resource_name}
                  id={entry.resource}
                  {...(entry.resource.startsWith('sbx_') ? { href: `/sandboxes/${entry.resource}` } : {})}
                />
              </td>
            )}
            <td class="long">
              {whoOf(entry.actor)} <span class="muted nowrap">{WHO[entry.actor.kind]}</span>
            </td>
            <td>{entry.address}</td>
            <td class="long">{resultOf(entry)}</td>
          </tr>
        ))}
      </Rows>
    </section>
  )
}
