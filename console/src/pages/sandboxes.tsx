// SPDX-License-Identifier: GPL-2.0-or-later
import { useEffect, useMemo, useState } from 'preact/hooks'
import { ApiError, api, type Schemas } from '../lib/client'
import { messageOf } from '../lib/errors'
import { formatShort, plural } from '../lib/format'
import { navigate, usePlace } from '../lib/router'
import { useMayWrite, useTeam } from '../lib/session'
import { STATE_WORDS } from '../lib/states'
import { useList } from '../lib/pages'
import { usePoll } from '../lib/poll'
import { Button, Check, Countdown, Empty, Named, Page, State, Time, TimeCell, type SortHead } from '../parts/basic'
import { ask } from '../parts/dialog'
import { Icon, type IconName } from '../parts/icon'
import { Rows } from '../parts/rows'

type Sandbox = Schemas['Sandbox']
type StateFilter = Schemas['SandboxState']
type Latest = Schemas['LatestMetrics']['items'][number]

const LOOK_MS = 4000
const PAGE = 100
const MIB = 1048576
const METRICS_MS = 10_000

const STATES: [string, string][] = [
  ['', 'Any state'],
  ...Object.entries(STATE_WORDS).map(([value, word]): [string, string] => [value, word.charAt(0).toUpperCase() + word.slice(1)]),
]

const AN_ID = /^sbx_[0-9a-z]{26}$/

export interface Filter {
  id: string
  /** The beginning of a name. */
  name: string
  metadata: Record<string, string>
}

/** "work run=42 owner=ada" → a name that begins with "work", and {run: "42", owner: "ada"}. A whole id is no name. */
export function filterOf(text: string): Filter {
  const filter: Filter = { id: '', name: '', metadata: {} }
  for (const word of text.split(/\s+/)) {
    const at = word.indexOf('=')
    if (at > 0) filter.metadata[word.slice(0, at)] = word.slice(at + 1)
    else if (AN_ID.test(word)) filter.id = word
    else if (at < 0 && word !== '') filter.name = word
  }
  return filter
}

/** One page of the team's sandboxes that the filter finds; with an id, this sandbox or none. */
export async function findSandboxes(
  team: string,
  filter: Filter,
  page: { limit: number; state?: string; token?: string | undefined },
  signal: AbortSignal,
): Promise<{ rows: Sandbox[]; next: string | undefined }> {
  const { id, name, metadata } = filter
  if (id) {
    const one = await api.get('/v1/sandboxes/{id}', { path: { id }, signal }).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null
      throw error
    })
    const fits =
      one?.team === team &&
      (!page.state || one.state === page.state) &&
      Object.entries(metadata).every(([key, value]) => one.metadata[key] === value)
    return { rows: fits ? [one] : [], next: undefined }
  }
  const answer = await api.get('/v1/sandboxes', {
    query: {
      team,
      limit: page.limit,
      'query[metadata]': metadata,
      ...(name ? { name_prefix: name } : {}),
      ...(page.state ? { 'query[state][]': [page.state as StateFilter] } : {}),
      ...(page.token ? { next_token: page.token } : {}),
    },
    signal,
  })
  return { rows: answer.sandboxes, next: answer.next_token }
}

function Metadata(props: { of: Record<string, string> }) {
  const pairs = Object.entries(props.of)
  if (pairs.length === 0) return <span class="muted">–</span>
  return (
    <span class="tags">
      {pairs.slice(0, 4).map(([key, value]) => (
        <span class="tag" key={key} title={`${key}=${value}`}>
          {key}={value}
        </span>
      ))}
      {pairs.length > 4 && <span class="muted">and {pairs.length - 4} more</span>}
    </span>
  )
}

function Ends(props: { sandbox: Sandbox }) {
  const { sandbox } = props
  if (sandbox.state === 'stopped') {
    return sandbox.cleanup_at ? (
      <span>
        deleted <Time at={sandbox.cleanup_at} />
      </span>
    ) : (
      <span class="muted">kept</span>
    )
  }
  if (!sandbox.deadline) return <span class="muted">–</span>
  return (
    <span>
      {sandbox.lifecycle.on_timeout === 'pause' ? 'pauses in ' : 'deleted in '}
      <Countdown to={sandbox.deadline} past="a moment" />
    </span>
  )
}

const nameOf = (sandbox: Sandbox): string => sandbox.name ?? sandbox.id

interface Act {
  words: string
  icon: IconName
  danger: boolean
  /** Which of the chosen it is for. */
  fits: (sandbox: Sandbox) => boolean
  run: (id: string) => Promise<unknown>
}

const ACTS: Act[] = [
  {
    words: 'Pause',
    icon: 'pause',
    danger: false,
    fits: sandbox => sandbox.state === 'ready',
    run: id => api.post('/v1/sandboxes/{id}/pause', { path: { id }, body: {} }),
  },
  {
    words: 'Resume',
    icon: 'play',
    danger: false,
    fits: sandbox => sandbox.state === 'stopped',
    run: id => api.post('/v1/sandboxes/{id}/resume', { path: { id }, body: {} }),
  },
  { words: 'Delete', icon: 'trash', danger: true, fits: () => true, run: id => api.delete('/v1/sandboxes/{id}', { path: { id } }) },
]

/** Acts on one after the other, so that many sandboxes of one click take no more of the service than one. */
async function actOnEach(act: Act, sandboxes: Sandbox[]): Promise<void> {
  const refused: string[] = []
  for (const sandbox of sandboxes)
    await act.run(sandbox.id).catch((error: unknown) => refused.push(`${nameOf(sandbox)}: ${messageOf(error)}`))
  if (refused.length > 0) throw new Error(`${plural(refused.length, 'refusal')}. ${refused.slice(0, 3).join(' ')}`)
}

/** Buttons for the chosen sandboxes: one for each action that at least one sandbox allows. */
function Chosen(props: { sandboxes: Sandbox[]; clear: () => void; refresh: () => void }) {
  const { sandboxes } = props
  if (sandboxes.length === 0) return null
  const start = (act: Act, fitting: Sandbox[]): void => {
    const names = fitting.slice(0, 5).map(nameOf).join(', ') + (fitting.length > 5 ? ` and ${fitting.length - 5} more` : '')
    ask(
      `${act.words} ${plural(fitting.length, 'sandbox', 'sandboxes')}?`,
      names,
      act.words,
      async () => {
        try {
          await actOnEach(act, fitting)
          props.clear()
        } finally {
          props.refresh()
        }
      },
      act.danger,
    )
  }
  return (
    <div class="actions before-table" role="group" aria-label="Chosen sandboxes">
      <span role="status">{plural(sandboxes.length, 'sandbox', 'sandboxes')} chosen</span>
      {ACTS.map(act => {
        const fitting = sandboxes.filter(act.fits)
        return (
          fitting.length > 0 && (
            <Button key={act.words} small icon={act.icon} kind={act.danger ? 'danger' : 'plain'} onClick={() => start(act, fitting)}>
              {act.words} {fitting.length}
            </Button>
          )
        )
      })}
      <Button small onClick={props.clear}>
        Clear
      </Button>
    </div>
  )
}

/** The processors and memory that a running sandbox uses, and its limits. */
function Use(props: { of: string; used: number | null | undefined; most: number; unit?: string }) {
  const { used, most, unit = '' } = props
  if (used === null || used === undefined) return <>{most + unit}</>
  return (
    <span class="use">
      <meter min={0} max={most} high={most * 0.85} optimum={0} value={Math.min(used, most)} aria-label={props.of} />
      <span>
        {formatShort(used)} of {most + unit}
      </span>
    </span>
  )
}

type Value = string | number | null | undefined

/** How the columns sort: the texts from a to z, the numbers and times from the largest or latest. */
const COLUMNS: [string, string, (sandbox: Sandbox, used: Latest | undefined) => Value, 'ascending' | 'descending'][] = [
  ['name', 'Sandbox', sandbox => sandbox.name, 'ascending'],
  ['state', 'State', sandbox => STATE_WORDS[sandbox.state], 'ascending'],
  ['template', 'Template', sandbox => sandbox.template, 'ascending'],
  ['cpu', 'CPU', (_, used) => used?.vcpus_used, 'descending'],
  ['memory', 'Memory', (_, used) => used?.memory_used_bytes, 'descending'],
  ['deadline', 'Deadline', sandbox => sandbox.deadline, 'ascending'],
  ['created', 'Created', sandbox => sandbox.created_at, 'descending'],
]

const NEWEST = '-created'
/** So many rows are loaded to sort them; of more, those that are loaded are sorted. */
const SORTED_MOST = 1000

/** Sorts by "name" or, from the other end, "-name"; rows without a value come last. */
function sortedBy(sort: string, rows: Sandbox[], used: ReadonlyMap<string, Latest>): Sandbox[] {
  const column = COLUMNS.find(([name]) => name === sort.replace('-', ''))
  if (!column || sort === NEWEST) return rows
  const sign = sort.startsWith('-') ? -1 : 1
  const valued = rows.map(row => ({ row, value: column[2](row, used.get(row.id)) ?? null }))
  valued.sort((a, b) => {
    if (a.value === null || b.value === null) return Number(a.value === null) - Number(b.value === null)
    if (typeof a.value === 'number' && typeof b.value === 'number') return sign * (a.value - b.value)
    return sign * String(a.value).localeCompare(String(b.value), undefined, { numeric: true })
  })
  return valued.map(one => one.row)
}

function SandboxRow(props: {
  sandbox: Sandbox
  used: Latest | undefined
  choose: ((on: boolean) => void) | null
  chosen: boolean
}) {
  const { sandbox, used, choose } = props
  return (
    <tr>
      {choose && (
        <td>
          <Check
            label={<span class="unseen">Choose {nameOf(sandbox)}</span>}
            checked={props.chosen}
            onChange={choose}
          />
        </td>
      )}
      <th scope="row">
        <Named name={sandbox.name} id={sandbox.id} href={`/sandboxes/${sandbox.id}`} />
      </th>
      <td>
        <State value={sandbox.state} />
      </td>
      <td>{sandbox.template}</td>
      <td class="rest">
        <Metadata of={sandbox.metadata} />
      </td>
      <td class="number nowrap">
        <Use of="CPU" used={used?.vcpus_used} most={sandbox.cpu} />
      </td>
      <td class="number nowrap">
        <Use of="Memory" used={used && Math.ceil(used.memory_used_bytes / MIB)} most={sandbox.memory_mb} unit=" MiB" />
      </td>
      <td class="nowrap">
        <Ends sandbox={sandbox} />
      </td>
      <TimeCell at={sandbox.created_at} />
    </tr>
  )
}

/** The last samples of the first running sandboxes, by id, a hundred in a request. */
function useLatest(team: string, sandboxes: Sandbox[]): ReadonlyMap<string, Latest> {
  const ids = sandboxes.filter(sandbox => sandbox.state === 'ready').map(sandbox => sandbox.id).slice(0, SORTED_MOST)
  const { data, refresh } = usePoll(
    async signal => {
      const all: Latest[] = []
      for (let at = 0; at < ids.length; at += PAGE) {
        const query = { team, ids: ids.slice(at, at + PAGE).join(',') }
        all.push(...(await api.get('/v1/sandbox_metrics', { query, signal })).items)
      }
      return new Map(all.map(one => [one.sandbox, one]))
    },
    METRICS_MS,
    [team],
  )
  useEffect(refresh, [ids.join()])
  return data ?? new Map<string, Latest>()
}

export function SandboxList() {
  const place = usePlace()
  const team = useTeam()
  const mayWrite = useMayWrite()
  const [state, setState] = useState(place.searchParams.get('state') ?? '')
  const [text, setText] = useState(place.searchParams.get('find') ?? '')
  const [sort, setSort] = useState(place.searchParams.get('sort') ?? NEWEST)
  const filter = useMemo(() => filterOf(text), [text])
  const key = JSON.stringify(filter)

  useEffect(() => {
    const query = new URLSearchParams()
    if (state) query.set('state', state)
    if (text) query.set('find', text)
    if (sort !== NEWEST) query.set('sort', sort)
    const words = query.toString()
    navigate(words ? `/sandboxes?${words}` : '/sandboxes', true)
  }, [state, text, sort])
  const list = useList<Sandbox>(
    (token, signal) => findSandboxes(team.slug, filter, { limit: PAGE, state, token }, signal),
    LOOK_MS,
    [team.slug, state, key],
  )
  const used = useLatest(team.slug, list.rows)
  useEffect(() => {
    if (sort !== NEWEST && list.more && list.rows.length < SORTED_MOST) list.loadMore()
  }, [sort, list.more, list.rows.length])
  const rows = sortedBy(sort, list.rows, used)
  const sortHead = (name: string): SortHead => {
    const [, words, , first] = COLUMNS.find(column => column[0] === name) ?? ['', '', () => null, 'ascending']
    const order = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : undefined
    const next = order ? (order === 'ascending' ? 'descending' : 'ascending') : first
    return { sort: words, order, onSort: () => setSort(next === 'ascending' ? name : `-${name}`) }
  }
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const clear = (): void => setChosen(new Set())
  useEffect(clear, [team.slug, state, key])
  const choose = (ids: string[], on: boolean): void => {
    const next = new Set(chosen)
    for (const id of ids) {
      if (on) next.add(id)
      else next.delete(id)
    }
    setChosen(next)
  }
  const here = list.rows.filter(sandbox => chosen.has(sandbox.id))
  const filtered = state !== '' || text.trim() !== ''
  const create = mayWrite && (
    <a class="btn primary" href="/sandboxes/new">
      <Icon name="plus" />
      New sandbox
    </a>
  )
  return (
    <Page title="Sandboxes" actions={create}>
      <form class="filters" role="search" aria-label="Sandboxes" onSubmit={event => event.preventDefault()}>
        <label>
          <span>State</span>
          <select value={state} onChange={event => setState(event.currentTarget.value)}>
            {STATES.map(([value, words]) => (
              <option key={value} value={value} selected={value === state}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <label class="grow">
          <span>Name, id or metadata</span>
          <input
            type="search"
            value={text}
            placeholder="name key=value"
            spellcheck={false}
            autoComplete="off"
            onInput={event => setText(event.currentTarget.value)}
          />
        </label>
        <label class="narrow">
          <span>Sort</span>
          <select value={sort} onChange={event => setSort(event.currentTarget.value)}>
            {COLUMNS.map(([name, words, , first]) => {
              const value = first === 'ascending' ? name : `-${name}`
              return (
                <option key={name} value={value} selected={value === sort}>
                  {words}
                </option>
              )
            })}
          </select>
        </label>
        <p class="count" role="status">
          {list.loading ? '' : plural(list.rows.length, 'sandbox', 'sandboxes') + (list.more ? ' and more' : '')}
        </p>
      </form>
      <Chosen sandboxes={here} clear={clear} refresh={list.refresh} />
      <Rows
        of={list}
        none={
          filtered ? (
            <Empty title="No sandbox matches">
              <p>Remove a filter to see other sandboxes.</p>
            </Empty>
          ) : (
            <Empty title="No sandboxes yet">
              <p>A sandbox is a separate Linux machine. It starts in a second or less, and ends at its deadline.</p>
              {create}
            </Empty>
          )
        }
        label="Sandboxes"
        dense
        head={[
          ...(mayWrite
            ? [
                <Check
                  label={<span class="unseen">Choose all</span>}
                  checked={here.length === list.rows.length}
                  onChange={on => choose(list.rows.map(sandbox => sandbox.id), on)}
                />,
              ]
            : []),
          sortHead('name'),
          sortHead('state'),
          sortHead('template'),
          'Metadata',
          sortHead('cpu'),
          sortHead('memory'),
          sortHead('deadline'),
          sortHead('created'),
        ]}
      >
        {rows.map(sandbox => (
          <SandboxRow
            key={sandbox.id}
            sandbox={sandbox}
            used={sandbox.state === 'ready' ? used.get(sandbox.id) : undefined}
            chosen={chosen.has(sandbox.id)}
            choose={mayWrite ? on => choose([sandbox.id], on) : null}
          />
        ))}
      </Rows>
    </Page>
  )
}
