// SPDX-License-Identifier: GPL-2.0-or-later
// The deployment, for its operators: hosts and pools, work in flight, sandboxes of all teams, the doctor.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { formatBytes, formatNumber, plural } from '../lib/format'
import { useList } from '../lib/pages'
import { usePoll } from '../lib/poll'
import { usePlace } from '../lib/router'
import { useMe } from '../lib/session'
import { stateWord } from '../lib/states'
import { Activity } from '../parts/activity'
import { Bar, Button, Empty, Loading, Named, Page, Problem, State, Table, Time, TimeCell } from '../parts/basic'
import { CurvesButton } from '../parts/curves_button'
import { ask } from '../parts/dialog'
import { Rows } from '../parts/rows'
import { Tabs } from '../parts/tabs'
import { Teams, Users } from './operator_teams'
import { Plans } from './plans'

type Deployment = Schemas['Deployment']
type Host = Deployment['hosts'][number]
type OperatedSandbox = Schemas['OperatedSandbox']

const LOOK_MS = 5000
const MIB = 1048576
const SANDBOXES_A_PAGE = 100

const WAYS: [string, string][] = [
  ['/operator', 'Deployment'],
  ['/operator/sandboxes', 'Sandboxes'],
  ['/operator/teams', 'Teams'],
  ['/operator/users', 'Users'],
  ['/operator/plans', 'Plans'],
  ['/operator/doctor', 'Doctor'],
  ['/operator/activity', 'Activity'],
]

// --- hosts ---

function setHost(host: Host, state: Host['state'], refresh: () => void): void {
  const drain = state === 'draining'
  ask(
    drain ? `Drain ${host.name}?` : `Activate ${host.name}?`,
    drain
      ? 'It gets no new sandboxes from now on. Its sandboxes stay until they are deleted; “sandlotctl host drain” moves them.'
      : 'It gets new sandboxes again.',
    drain ? 'Drain' : 'Activate',
    async () => {
      await api.patch('/v1/operator/hosts/{name}', { path: { name: host.name }, body: { state } })
      refresh()
    },
    drain,
  )
}

function HostCard(props: { host: Host; refresh: () => void }) {
  const { host } = props
  const active = host.state === 'active'
  const rows: [string, number, number, string][] = [
    ['vCPUs', host.used_vcpus, host.vcpus, `${formatNumber(host.used_vcpus)} of ${formatNumber(host.vcpus)}`],
    [
      'Memory',
      host.used_memory_mb,
      host.memory_mb,
      `${formatBytes(host.used_memory_mb * MIB)} of ${formatBytes(host.memory_mb * MIB)}`,
    ],
    [
      'Storage pool',
      host.pool_used_mb,
      host.pool_mb,
      host.pool_mb === 0 ? 'not known yet' : `${formatBytes(host.pool_used_mb * MIB)} of ${formatBytes(host.pool_mb * MIB)}`,
    ],
  ]
  return (
    <section class="card" aria-label={`Host ${host.name}`}>
      <div class="card-head">
        <h2>{host.name}</h2>
        <State value={active ? 'ready' : 'pending'} word={host.state} />
        <Button
          small
          label={`${active ? 'Drain' : 'Activate'} ${host.name}`}
          onClick={() => setHost(host, active ? 'draining' : 'active', props.refresh)}
        >
          {active ? 'Drain' : 'Activate'}
        </Button>
      </div>
      {rows.map(([name, used, of, text]) => (
        <Bar key={name} label={name} used={used} of={of} text={text} />
      ))}
      {host.memory_low && <p class="note">It has little memory left, and gets no new sandboxes for now.</p>}
      <CurvesButton host={host.name} />
      <p class="fine">
        {plural(host.sandboxes, 'sandbox', 'sandboxes')} with a reservation; {formatNumber(host.promised_gb)} GiB of disks
        promised. {host.events ? 'Its event stream is up.' : 'Its event stream is down.'}
      </p>
    </section>
  )
}

// --- work and pools ---

function Numbers(props: { title: string; head: string[]; rows: [string, ...string[]][]; none: string }) {
  return (
    <section class="card" aria-label={props.title}>
      <h2>{props.title}</h2>
      {props.rows.length === 0 ? (
        <p class="muted">{props.none}</p>
      ) : (
        <Table
          label={props.title}
          dense
          head={props.head}
        >
          {props.rows.map(([name, ...numbers], index) => (
            <tr key={`${name} ${index}`}>
              <th scope="row">{name}</th>
              {numbers.map((number, at) => (
                <td class="number" key={at}>
                  {number}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

function Standing() {
  const polled = usePoll(signal => api.get('/v1/operator/status', { signal }), LOOK_MS, [])
  const shown = polled.data
  if (!shown) return polled.error ? <Problem error={polled.error} /> : <Loading />
  return (
    <>
      <Problem error={polled.error} />
      <DoctorCount />
      {shown.problems.length > 0 && (
        <section class="problem" aria-label="Problems">
          {shown.problems.map(problem => (
            <p key={problem}>{problem}</p>
          ))}
        </section>
      )}
      {shown.hosts.length === 0 && (
        <Empty title="No hosts yet">
          <p>Sandboxes run on hosts. An administrator adds one with <code>sandlotctl host add</code>.</p>
        </Empty>
      )}
      <div class="columns">
        {shown.hosts.map(host => (
          <HostCard key={host.name} host={host} refresh={polled.refresh} />
        ))}
      </div>
      <div class="columns">
        <Numbers
          title="Sandboxes"
          head={['State', 'Count']}
          none="No rows."
          rows={[
            ...shown.sandboxes.map(one => [stateWord(one.state), formatNumber(one.count)] as [string, string]),
            ['past their deadline', formatNumber(shown.past_deadline)],
          ]}
        />
        <Numbers
          title="Unfinished work"
          head={['Kind', 'Running', 'Without a worker']}
          none="There is no unfinished work."
          rows={shown.operations.map(one => [one.kind, formatNumber(one.running), formatNumber(one.overdue)])}
        />
      </div>
      <Numbers
        title="Warm pool, last 15 minutes"
        head={['Template and size', 'Creates', 'Got a warm instance', 'Waiting now', 'Why others got none']}
        none="There were no creates."
        rows={shown.warm_pool.map(one => [
          `${one.template}, ${one.cpu} vCPU, ${one.memory_mb} MiB, ${one.disk_gb} GiB`,
          formatNumber(one.creates),
          formatNumber(one.warm),
          formatNumber(one.waiting),
          one.why_cold === '' ? '–' : one.why_cold,
        ])}
      />
      <Numbers
        title="Workers"
        head={['Pool', 'Workers', 'Serving a team now']}
        none="The machine that answered has no worker pool."
        rows={shown.pools.map(one => [one.name, formatNumber(one.workers), formatNumber(one.serving)])}
      />
    </>
  )
}

// --- sandboxes of all teams ---

function AllSandboxes() {
  const place = usePlace()
  const [team, setTeam] = useState(place.searchParams.get('team') ?? '')
  const list = useList<OperatedSandbox>(
    async (token, signal) => {
      const query = { limit: SANDBOXES_A_PAGE, ...(team ? { team } : {}), ...(token ? { next_token: token } : {}) }
      const answer = await api.get('/v1/operator/sandboxes', { query, signal })
      return { rows: answer.items, next: answer.next_token }
    },
    LOOK_MS,
    [team],
  )
  return (
    <>
      <form class="filters" role="search" aria-label="Sandboxes" onSubmit={event => event.preventDefault()}>
        <label class="grow">
          <span>Team</span>
          <input
            type="search"
            value={team}
            placeholder="All teams"
            spellcheck={false}
            autoComplete="off"
            onInput={event => setTeam(event.currentTarget.value.trim())}
          />
        </label>
        <p class="count" role="status">
          {list.loading ? '' : plural(list.rows.length, 'sandbox', 'sandboxes') + (list.more ? ' and more' : '')}
        </p>
      </form>
      <Rows
        of={list}
        none={<Empty title="No sandboxes" />}
        label="Sandboxes of all teams"
        dense
        head={['Sandbox', 'Team', 'State', 'Template', 'Size', 'Host', 'Created', 'Deadline']}
      >
        {list.rows.map(sandbox => (
          <tr key={sandbox.id}>
            <th scope="row">
              <Named name={sandbox.name} id={sandbox.id} />
            </th>
            <td class="long">{sandbox.team}</td>
            <td>
              <State value={sandbox.state} />
            </td>
            <td class="long">{sandbox.template}</td>
            <td class="number nowrap">
              {sandbox.cpu} vCPU, {sandbox.memory_mb} MiB
            </td>
            <td class="long">{sandbox.host}</td>
            <TimeCell at={sandbox.created_at} />
            <TimeCell at={sandbox.deadline} />
          </tr>
        ))}
      </Rows>
    </>
  )
}

// --- doctor ---

/** How the last examination ended, on the first page. */
function DoctorCount() {
  const { data } = usePoll(signal => api.get('/v1/operator/doctor', { signal }), 60_000, [])
  if (!data) return null
  const wrong = data.report?.wrong ?? 0
  const words = data.report ? (wrong === 0 ? 'No fault found' : plural(wrong, 'fault')) : 'Not checked yet'
  return (
    <p class="doctor-count">
      <a href="/operator/doctor">Doctor</a>{' '}
      <State value={wrong > 0 ? 'failed' : data.report ? 'ready' : ''} word={words} /> <Time at={data.made_at} none="" />
    </p>
  )
}

const FINDINGS: Record<string, [string, string]> = {
  ok: ['ready', 'ok'],
  note: ['stopped', 'note'],
  WRONG: ['failed', 'wrong'],
}

function Doctor() {
  const polled = usePoll(signal => api.get('/v1/operator/doctor', { signal }), 15_000, [])
  if (!polled.data) return polled.error ? <Problem error={polled.error} /> : <Loading />
  const { made_at: madeAt, report } = polled.data
  if (!report) {
    return (
      <Empty title="No checks have run yet">
        <p>
          An administrator of the machine runs them with <code>sandlotctl doctor</code>; a monitor that runs{' '}
          <code>sandlotctl check</code> keeps the findings up to date.
        </p>
      </Empty>
    )
  }
  const order = ['WRONG', 'note', 'ok']
  const findings = [...report.findings].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
  return (
    <>
      <Problem error={polled.error} />
      <p class="before-table">
        {report.wrong === 0 ? 'No fault' : plural(report.wrong, 'fault')} found by the last <code>sandlotctl doctor</code> or{' '}
        <code>check</code>, <Time at={madeAt} />.
      </p>
      <Table label="Findings" head={['Check', 'Result', 'Finding']}>
        {findings.map((finding, index) => (
          <tr key={index}>
            <th scope="row">{finding.check}</th>
            <td>
              <State value={FINDINGS[finding.state]?.[0] ?? ''} word={FINDINGS[finding.state]?.[1] ?? finding.state} />
            </td>
            <td class="long">
              {finding.message}
              {finding.advice && <p class="fine">{finding.advice}</p>}
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

const PARTS: Record<string, () => JSX.Element> = {
  '': Standing,
  sandboxes: AllSandboxes,
  teams: Teams,
  users: Users,
  plans: Plans,
  doctor: Doctor,
  activity: () => <Activity team="deployment" />,
}

export function Operator(props: { parts: Record<string, string> }) {
  const tab = props.parts['tab'] ?? ''
  const Part = PARTS[tab]
  if (!useMe().operator || !Part) {
    return (
      <Page title="Deployment">
        <Empty title="This page is for operators">
          <p>Operators are the owners of the deployment's own team.</p>
        </Empty>
      </Page>
    )
  }
  return (
    <Page title="Deployment">
      <Tabs label="Parts of the deployment" ways={WAYS} current={tab === '' ? '/operator' : `/operator/${tab}`} />
      <Part key={tab} />
    </Page>
  )
}
