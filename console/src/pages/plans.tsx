// SPDX-License-Identifier: GPL-2.0-or-later
// The plans of the deployment, which operators change.
import { useState } from 'preact/hooks'
import { ApiError, api, type Schemas } from '../lib/client'
import { messageOf } from '../lib/errors'
import { formatBytes, formatNumber, formatSpan, plural } from '../lib/format'
import { usePoll } from '../lib/poll'
import { Button, Check, Loading, Problem, Table, TextField } from '../parts/basic'
import { FormDialog, say } from '../parts/dialog'

type Plan = Schemas['Plan']
type Wanted = Schemas['UpdatePlan']
type Prices = NonNullable<Wanted['prices']>
type FlagName = 'resource_override' | 'public' | 'virtual_machines_only'
type NumberName = Exclude<keyof Wanted, 'prices' | FlagName>

const MIB = 1048576

export function usePlans(): { plans: Plan[]; error: unknown; refresh: () => void } {
  const polled = usePoll(signal => api.get('/v1/sandbox_limits', { signal }), null, [])
  return { plans: polled.data?.plans ?? [], error: polled.error, refresh: polled.refresh }
}

// --- what a plan has: in the table, and in the form with the unit that is typed ---

const days = (count: number): string => (count === 0 ? 'for ever' : plural(count, 'day'))

const NUMBERS: [NumberName, string, string, (value: number) => string][] = [
  ['sandboxes', 'Sandboxes', '', formatNumber],
  ['vcpus', 'vCPUs', '', formatNumber],
  ['memory_mb', 'Memory', 'MiB', value => formatBytes(value * MIB)],
  ['disk_gb', 'Disk of a sandbox', 'GiB', value => `${formatNumber(value)} GiB`],
  ['max_timeout', 'Longest timeout', 'seconds', formatSpan],
  ['stopped_sandboxes', 'Paused sandboxes', '', formatNumber],
  ['paused_memory_gb', 'Memory of paused sandboxes', 'GiB', value => `${formatNumber(value)} GiB`],
  ['volumes', 'Volumes', '', formatNumber],
  ['checkpoints', 'Checkpoints', '', formatNumber],
  ['stopped_days', 'Paused sandboxes stay', 'days; 0: for ever', days],
  ['checkpoint_days', 'Checkpoints stay', 'days; 0: for ever', days],
  ['cleanup_warning_hours', 'Warning before a removal', 'hours', value => plural(value, 'hour')],
  ['audit_days', 'Activity is kept', 'days', days],
  ['process_log_kib', 'Kept output of a sandbox', 'KiB', value => formatBytes(value * 1024)],
]

const PRICES: [keyof Prices, string][] = [
  ['currency', 'Currency'],
  ['vcpu_hour', 'A vCPU for an hour'],
  ['memory_gb_hour', 'A GiB of memory for an hour'],
  ['storage_gb_month', 'A GiB stored for a month'],
]

const FLAGS: [FlagName, string, string][] = [
  ['resource_override', 'Own sizes', 'Sandboxes can have a size of their own'],
  ['public', 'Shown to all teams', 'Teams with other plans see this plan'],
  ['virtual_machines_only', 'Virtual machines only', 'Sandboxes must be virtual machines'],
]

const ROWS: [string, (plan: Plan) => string][] = [
  ...NUMBERS.map(([name, label, , text]): [string, (plan: Plan) => string] => [label, plan => text(plan[name])]),
  ...FLAGS.map(([name, label]): [string, (plan: Plan) => string] => [label, plan => (plan[name] ? 'yes' : 'no')]),
  ...PRICES.slice(1).map(([name, label]): [string, (plan: Plan) => string] => [
    label,
    plan => `${plan.prices[name]} ${plan.prices.currency}`,
  ]),
]

// --- changing one ---

type Typed = Record<string, string>
type Flags = Pick<Plan, FlagName>

const typedOf = (plan: Plan): Typed => ({
  ...Object.fromEntries(NUMBERS.map(([name]) => [name, String(plan[name])])),
  ...plan.prices,
})

/** What differs from the plan: somebody else's change of another value stays. */
function changesOf(plan: Plan, typed: Typed, flags: Flags): Wanted {
  const before = typedOf(plan)
  const differs = ([name]: [string, ...unknown[]]): boolean => typed[name] !== before[name]
  const wanted: Wanted = Object.fromEntries(NUMBERS.filter(differs).map(([name]) => [name, Number(typed[name])]))
  const prices: Prices = Object.fromEntries(PRICES.filter(differs).map(([name]) => [name, typed[name]]))
  for (const [name] of FLAGS) if (flags[name] !== plan[name]) wanted[name] = flags[name]
  if (Object.keys(prices).length > 0) wanted.prices = prices
  return wanted
}

function PlanDialog(props: { plan: Plan; onClose: () => void; onDone: () => void }) {
  const { plan } = props
  const [typed, setTyped] = useState<Typed>(() => typedOf(plan))
  const [flags, setFlags] = useState<Flags>(plan)
  const [refused, setRefused] = useState<ApiError | null>(null)
  const at = (pointer: string): string | null => (refused?.field === pointer ? messageOf(refused) : null)
  const type = (name: string) => (value: string) => setTyped({ ...typed, [name]: value })
  const submit = async (): Promise<void> => {
    setRefused(null)
    try {
      await api.patch('/v1/operator/plans/{name}', { path: { name: plan.name }, body: changesOf(plan, typed, flags) })
    } catch (error) {
      if (error instanceof ApiError) setRefused(error)
      throw error
    }
    say(`The plan ${plan.name} is changed.`)
    props.onDone()
    props.onClose()
  }
  return (
    <FormDialog title={`Change the plan ${plan.name}`} action="Change the plan" wide submit={submit} onClose={props.onClose}>
      <p>Teams on this plan get the new values at once. Their existing objects stay.</p>
      <div class="two">
        {NUMBERS.map(([name, label, unit]) => (
          <TextField
            key={name}
            label={label}
            type="number"
            required
            value={typed[name] ?? ''}
            onInput={type(name)}
            hint={unit}
            error={at(`/${name}`)}
          />
        ))}
        {PRICES.map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            required
            value={typed[name] ?? ''}
            onInput={type(name)}
            error={at(`/prices/${name}`)}
          />
        ))}
      </div>
      {FLAGS.map(([name, , label]) => (
        <Check key={name} label={label} checked={flags[name]} onChange={checked => setFlags({ ...flags, [name]: checked })} />
      ))}
    </FormDialog>
  )
}

export function Plans() {
  const { plans, error, refresh } = usePlans()
  const [changed, setChanged] = useState<Plan | null>(null)
  if (plans.length === 0) return error ? <Problem error={error} /> : <Loading />
  return (
    <>
      <Problem error={error} />
      <Table
        label="Plans"
        head={[
          'Property',
          ...plans.map(plan => (
            <>
              {plan.name}
              <Button small label={`Change ${plan.name}`} onClick={() => setChanged(plan)}>
                Change
              </Button>
            </>
          )),
        ]}
      >
        {ROWS.map(([name, text]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {plans.map(plan => (
              <td class="number" key={plan.name}>
                {text(plan)}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      <p class="fine">
        An administrator creates and removes plans with <code>sandlotctl plan</code>, which also sets the possible
        sizes of sandboxes.
      </p>
      {changed && <PlanDialog plan={changed} onClose={() => setChanged(null)} onDone={refresh} />}
    </>
  )
}
