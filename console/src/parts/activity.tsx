// SPDX-License-Identifier: GPL-2.0-or-later
// What was done to one thing, or to all things of a team: its audit log.
import { api, type Schemas } from '../lib/client'
import { useList } from '../lib/pages'
import { Id, Time } from './basic'
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

export function Activity(props: { team: string; resource?: string }) {
  const { team, resource } = props
  const list = useList<Entry>(
    async (token, signal) => {
      const query = { team, limit: 20, ...(resource ? { resource } : {}), ...(token ? { next_token: token } : {}) }
      const answer = await api.get('/v1/audit', { query, signal })
      return { rows: answer.items, next: answer.next_token }
    },
    10_000,
    [team, resource],
  )
  return (
    <section class="card" aria-label="Activity">
      <h2>Activity</h2>
      <Rows
        of={list}
        none="Nothing was done yet."
        label="Activity"
        head={['When', 'What', ...(!resource ? ['To'] : []), 'Who', 'From', 'Result']}
      >
        {oneRowAnAct(list.rows).map(entry => (
          <tr key={entry.id}>
            <td class="nowrap">
              <Time at={entry.at} />
            </td>
            <th scope="row">{entry.action}</th>
            {!resource && (
              <td>
                {entry.resource.startsWith('sbx_') ? (
                  <Id value={entry.resource} href={`/sandboxes/${entry.resource}`} />
                ) : (
                  entry.resource
                )}
              </td>
            )}
            <td class="nowrap">
              {whoOf(entry.actor)} <span class="muted">{WHO[entry.actor.kind]}</span>
            </td>
            <td>{entry.address}</td>
            <td>{resultOf(entry)}</td>
          </tr>
        ))}
      </Rows>
    </section>
  )
}
