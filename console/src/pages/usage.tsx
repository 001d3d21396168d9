// SPDX-License-Identifier: GPL-2.0-or-later
import { useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { formatBytes, formatNumber, formatShort, formatSpan } from '../lib/format'
import { usePoll } from '../lib/poll'
import { useTeam } from '../lib/session'
import { Bar, Fact, Facts, Loading, Named, Page, Problem, Table } from '../parts/basic'

type Limits = Schemas['Limits']
type Usage = Schemas['Usage']
type UsagePart = Schemas['UsagePart']

const MIB = 1048576
const MONTHS = 6
const HOUR_S = 3600
const MONTH_S = 30 * 24 * HOUR_S

interface Month {
  text: string
  from: string
  to: string
}

function months(): Month[] {
  const name = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' })
  const now = new Date()
  return Array.from({ length: MONTHS }, (_, back) => {
    const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1))
    const end = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back + 1, 1))
    return { text: name.format(from), from: from.toISOString(), to: (end < now ? end : now).toISOString() }
  })
}

function priced(amount: number, price: string, currency: string): string {
  try {
    return new Intl.NumberFormat(undefined, { style: 'currency', currency }).format(amount * Number(price))
  } catch {
    return `${formatShort(amount * Number(price))} ${currency}`
  }
}

function Quota(props: { limits: Limits }) {
  const { quota } = props.limits
  const rows: [string, number, number, string][] = [
    ['Sandboxes', quota.usage.sandboxes, quota.limits.sandboxes, ''],
    ['vCPUs', quota.usage.vcpus, quota.limits.vcpus, ''],
    ['Memory', quota.usage.memory_mb / 1024, quota.limits.memory_mb / 1024, ' GiB'],
  ]
  return (
    <section class="card" aria-label="Quota">
      <h2>Running now</h2>
      {rows.map(([name, used, of, unit]) => (
        <Bar key={name} label={name} used={used} of={of} text={`${formatShort(used)} of ${formatShort(of)}${unit}`} />
      ))}
    </section>
  )
}

function PlanCard(props: { limits: Limits }) {
  const { plan, paused_memory } = props.limits
  return (
    <section class="card" aria-label="Plan">
      <h2>Plan {plan.name}</h2>
      <Facts>
        <Fact name="Disk of a sandbox">{plan.disk_gb} GiB</Fact>
        <Fact name="Longest timeout">{formatSpan(plan.max_timeout)}</Fact>
        <Fact name="Own sizes">{plan.resource_override ? 'yes' : 'no'}</Fact>
        <Fact name="Paused sandboxes">{formatNumber(plan.stopped_sandboxes)}</Fact>
        <Fact name="Memory of paused sandboxes">
          {formatBytes(paused_memory.used_mb * MIB)} of {formatBytes(paused_memory.limit_mb * MIB)}
        </Fact>
        <Fact name="Volumes">{formatNumber(plan.volumes)}</Fact>
        <Fact name="Checkpoints">{formatNumber(plan.checkpoints)}</Fact>
      </Facts>
    </section>
  )
}

function Sums(props: { usage: Usage; prices: Limits['prices'] }) {
  const { usage, prices } = props
  const vcpuHours = usage.runtime.vcpu_seconds / HOUR_S
  const memoryHours = usage.runtime.memory_gb_seconds / HOUR_S
  const storage = usage.storage.gb_seconds / MONTH_S
  const rows: [string, string, string][] = [
    ['Processors', `${formatShort(vcpuHours)} vCPU hours`, priced(vcpuHours, prices.vcpu_hour, prices.currency)],
    ['Memory', `${formatShort(memoryHours)} GiB hours`, priced(memoryHours, prices.memory_gb_hour, prices.currency)],
    ['Storage', `${formatShort(storage)} GiB months`, priced(storage, prices.storage_gb_month, prices.currency)],
  ]
  return (
    <Table label="Usage" head={['Resource', 'Used', 'At list price']}>
      {rows.map(([name, used, price]) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          <td class="number">{used}</td>
          <td class="number">{price}</td>
        </tr>
      ))}
    </Table>
  )
}

function Sizes(props: { usage: Usage }) {
  const { sizes } = props.usage.runtime
  if (sizes.length === 0) return <p class="muted">No sandbox ran in this month.</p>
  return (
    <Table label="By size" head={['Size', 'Sandboxes', 'Running for']}>
      {sizes.map(size => (
        <tr key={`${size.cpu} ${size.memory_mb}`}>
          <th scope="row">
            {size.cpu} vCPU, {size.memory_mb} MiB
          </th>
          <td class="number">{formatNumber(size.sandboxes)}</td>
          <td class="number">{formatSpan(size.seconds)}</td>
        </tr>
      ))}
    </Table>
  )
}

/** What a part costs at list price. */
function priceOf(part: UsagePart, prices: Limits['prices']): number {
  return (
    (part.runtime.vcpu_seconds / HOUR_S) * Number(prices.vcpu_hour) +
    (part.runtime.memory_gb_seconds / HOUR_S) * Number(prices.memory_gb_hour) +
    (part.storage.gb_seconds / MONTH_S) * Number(prices.storage_gb_month)
  )
}

/** Days are UTC's, as bills are. */
const dayName = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', weekday: 'short', timeZone: 'UTC' })
const KINDS: Record<string, string> = { ckp: 'checkpoint', vol: 'volume' }

function PartName(props: { part: UsagePart }) {
  const { day, id, name } = props.part
  if (day !== undefined) return <time dateTime={day}>{dayName.format(new Date(day))}</time>
  const kind = KINDS[(id ?? '').slice(0, 3)]
  if (kind) {
    return (
      <>
        <Named name={name} id={id ?? ''} /> <span class="muted">{kind}</span>
      </>
    )
  }
  return <Named name={name} id={id ?? ''} href={`/sandboxes/${id}`} />
}

function Parts(props: { by: 'day' | 'sandbox'; parts: UsagePart[]; prices: Limits['prices'] }) {
  const { by, parts, prices } = props
  const most = Math.max(...parts.map(part => priceOf(part, prices)), 0)
  if (parts.length === 0) return <p class="muted">Nothing was used in this month.</p>
  return (
    <Table
      label={by === 'day' ? 'By day' : 'By sandbox'}
      dense
      head={[
        by === 'day' ? 'Day (UTC)' : 'Object',
        'Running for',
        'vCPU hours',
        'GiB hours',
        'GiB months stored',
        'At list price',
        <span class="unseen">Share of the largest</span>,
      ]}
    >
      {parts.map(part => {
        const price = priceOf(part, prices)
        return (
          <tr key={part.day ?? part.id}>
            <th scope="row" class="nowrap">
              <PartName part={part} />
            </th>
            <td class="number nowrap">{formatSpan(part.runtime.seconds)}</td>
            <td class="number">{formatShort(part.runtime.vcpu_seconds / HOUR_S)}</td>
            <td class="number">{formatShort(part.runtime.memory_gb_seconds / HOUR_S)}</td>
            <td class="number">{formatShort(part.storage.gb_seconds / MONTH_S)}</td>
            <td class="number nowrap">{priced(price, '1', prices.currency)}</td>
            <td class="share">
              <meter min={0} max={most > 0 ? most : 1} value={price} aria-label={`${formatShort(most > 0 ? (100 * price) / most : 0)} % of the largest`} />
            </td>
          </tr>
        )
      })}
    </Table>
  )
}

export function Usage() {
  const team = useTeam()
  const [all] = useState(months)
  const [at, setAt] = useState(0)
  const [by, setBy] = useState<'day' | 'sandbox'>('day')
  const month = all[at] ?? all[0]
  const limits = usePoll(signal => api.get('/v1/sandbox_limits', { query: { team: team.slug }, signal }), 8000, [team.slug])
  const usage = usePoll(
    signal => api.get('/v1/usage', { query: { team: team.slug, by, from: month?.from, ...(at > 0 ? { to: month?.to } : {}) }, signal }),
    at === 0 ? 30_000 : null,
    [team.slug, at, by],
  )
  return (
    <Page title="Usage and limits">
      <Problem error={limits.error ?? usage.error} />
      {limits.loading && <Loading />}
      {limits.data && (
        <>
          <div class="columns">
            <Quota limits={limits.data} />
            <PlanCard limits={limits.data} />
          </div>
          <section class="card" aria-label="Usage by month">
            <div class="card-head">
              <h2>By month</h2>
              <label class="side-by-side">
                <span>Split by</span>
                <select value={by} onChange={event => setBy(event.currentTarget.value as 'day' | 'sandbox')}>
                  <option value="day">day</option>
                  <option value="sandbox">sandbox</option>
                </select>
              </label>
              <label class="side-by-side">
                <span>Month</span>
                <select value={String(at)} onChange={event => setAt(Number(event.currentTarget.value))}>
                  {all.map((one, index) => (
                    <option key={one.from} value={String(index)} selected={index === at}>
                      {one.text}
                    </option>
                  ))}
                </select>
              </label>
            </div>
            {usage.loading && <Loading />}
            {usage.data && (
              <>
                <Sums usage={usage.data} prices={limits.data.prices} />
                <h3>{by === 'day' ? 'By day' : 'By sandbox'}</h3>
                <Parts by={by} parts={usage.data.parts ?? []} prices={limits.data.prices} />
                <h3>By size</h3>
                <Sizes usage={usage.data} />
              </>
            )}
          </section>
        </>
      )}
    </Page>
  )
}
