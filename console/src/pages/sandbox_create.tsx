// SPDX-License-Identifier: GPL-2.0-or-later
import { useEffect, useMemo, useState } from 'preact/hooks'
import { ApiError, api, type Schemas } from '../lib/client'
import { fieldOf, messageOf } from '../lib/errors'
import { formatSpan } from '../lib/format'
import { useIdempotencyKey } from '../lib/idempotency'
import { usePoll } from '../lib/poll'
import { navigate, usePlace } from '../lib/router'
import { useMayWrite, useTeam } from '../lib/session'
import { curlOf } from '../sandbox/curl'
import { PolicyFields, entriesOf, withLine, type Policy } from '../sandbox/policy'
import { Bar, Button, Check, Copy, Loading, Note, Page, Problem, SelectField, TextField, type Choice } from '../parts/basic'
import { useAction, useRefusedForm } from '../parts/dialog'
import { Pairs, pairsOf, type Pair } from '../parts/pairs'

type CreateSandbox = Schemas['CreateSandbox']
type Limits = Schemas['Limits']

interface Form {
  name: string
  source: string
  version: string
  cpu: string
  memory: string
  timeout: string
  onTimeout: 'kill' | 'pause'
  autoResume: boolean
  idleTimeout: string
  pauseMemory: boolean
  onPauseFailure: 'disk' | 'keep_running'
  metadata: Pair[]
  envs: Pair[]
  volumes: Pair[]
  ports: { port: string; public: boolean; https: boolean }[]
  allPorts: boolean
  requestHost: string
  /** Nothing of the network in the request: the team's default holds. */
  ownPolicy: boolean
  policy: Policy
}

const CHOICES_MS = 15_000
const FIRST: Form = {
  name: '',
  source: '',
  version: '',
  cpu: '',
  memory: '',
  timeout: '300',
  onTimeout: 'kill',
  autoResume: false,
  idleTimeout: '',
  pauseMemory: true,
  onPauseFailure: 'disk',
  metadata: [],
  envs: [],
  volumes: [],
  ports: [],
  allPorts: false,
  requestHost: '',
  ownPolicy: false,
  policy: {
    internet: true, ask: false, registries: false, publicTraffic: true, allow: '', deny: '', profiles: '', kept: {},
  },
}

function sourceOf(form: Form): Partial<CreateSandbox> {
  const [kind, id] = [form.source.slice(0, 4), form.source]
  if (form.source === '') return {}
  if (kind === 'ckp_') return { snapshot_id: id }
  return { template: form.version ? `${id}:${form.version}` : id }
}

function networkOf(form: Form): Partial<CreateSandbox> {
  if (!form.ownPolicy) return {}
  const { policy } = form
  const allow = entriesOf(policy.allow)
  const deny = entriesOf(policy.deny)
  const profiles = entriesOf(policy.profiles)
  return {
    allow_internet_access: policy.internet,
    allow_package_registry_access: policy.registries,
    allow_public_traffic: policy.publicTraffic,
    ...(policy.ask ? { ask: true } : {}),
    ...(allow.length > 0 ? { allow_out: allow } : {}),
    ...(deny.length > 0 ? { deny_out: deny } : {}),
    ...(profiles.length > 0 ? { egress_profiles: profiles } : {}),
  }
}

/** Whether the service may pause the sandbox by itself. */
function isPaused(form: Form): boolean {
  return form.onTimeout === 'pause' || form.idleTimeout !== ''
}

function lifecycleOf(form: Form): Schemas['LifecycleRequest'] {
  return {
    on_timeout: form.onTimeout,
    ...(isPaused(form) && form.autoResume ? { auto_resume: true } : {}),
    ...(form.idleTimeout ? { idle_timeout: Number(form.idleTimeout) } : {}),
    ...(form.pauseMemory ? {} : { pause_memory: false }),
    ...(form.onPauseFailure === 'disk' ? {} : { on_pause_failure: form.onPauseFailure }),
  }
}

function portOf(one: Form['ports'][number]): Schemas['ExposedPortRequest'] {
  return { port: Number(one.port), public: one.public, ...(one.https ? { protocol: 'https' } : {}) }
}

/** The request that the form stands for: what is left alone is left out. */
export function requestOfForm(form: Form, team: string): CreateSandbox {
  const metadata = pairsOf(form.metadata)
  const envs = pairsOf(form.envs)
  const mounts = pairsOf(form.volumes)
  const ports = form.ports.filter(one => one.port !== '')
  return {
    team,
    ...(form.name ? { name: form.name } : {}),
    ...sourceOf(form),
    timeout: Number(form.timeout),
    lifecycle: lifecycleOf(form),
    ...(form.cpu ? { cpu: Number(form.cpu) } : {}),
    ...(form.memory ? { memory_mb: Number(form.memory) } : {}),
    ...(metadata ? { metadata } : {}),
    ...(envs ? { envs } : {}),
    ...(mounts ? { volume_mounts: mounts } : {}),
    ...networkOf(form),
    ...(ports.length > 0 ? { exposed_ports: ports.map(portOf) } : {}),
    ...(form.allPorts ? { expose_all_ports: true } : {}),
    ...(form.requestHost ? { mask_request_host: form.requestHost } : {}),
  }
}

/** The checkpoint of a link, which may be older than those that a list has. */
async function checkpointOf(id: string, team: string, signal: AbortSignal): Promise<Schemas['Checkpoint'][]> {
  const one = await api.get('/v1/checkpoints/{id}', { path: { id }, signal }).catch((error: unknown) => {
    if (error instanceof ApiError && error.status < 500) return null
    throw error
  })
  return one?.team === team ? [one] : []
}

async function sourcesOf(team: string, wanted: string, signal: AbortSignal): Promise<Choice[]> {
  const [templates, listed] = await Promise.all([
    api.get('/v1/templates', { query: { team }, signal }),
    api.get('/v1/checkpoints', { query: { team, limit: 200 }, signal }),
  ])
  const isOlder = wanted.startsWith('ckp_') && !listed.checkpoints.some(one => one.id === wanted)
  const checkpoints = [...listed.checkpoints, ...(isOlder ? await checkpointOf(wanted, team, signal) : [])]
  return [
    { value: '', text: 'The default template' },
    ...templates.templates
      .filter(template => template.latest_version !== null)
      .map(template => ({ value: template.slug, text: template.slug })),
    ...checkpoints.map(checkpoint => ({
      value: checkpoint.id,
      text: `Checkpoint ${checkpoint.name} (${checkpoint.template})`,
    })),
  ]
}

function Ports(props: { form: Form; set: (part: Partial<Form>) => void; errorOf: (field: string) => string | null }) {
  const { form, set } = props
  const change = (index: number, part: Partial<Form['ports'][number]>): void =>
    set({ ports: form.ports.map((one, at) => (at === index ? { ...one, ...part } : one)) })
  return (
    <fieldset class="pairs">
      <legend>Exposed ports</legend>
      <p class="hint">Each port gets its own preview address with HTTPS.</p>
      {form.ports.map((one, index) => (
        <div class="pair" key={index}>
          <input
            type="number"
            min={1}
            max={65535}
            aria-label={`Port ${index + 1}`}
            placeholder="Port"
            value={one.port}
            onInput={event => change(index, { port: event.currentTarget.value })}
          />
          <Check label="Public" checked={one.public} onChange={value => change(index, { public: value })} />
          <Check label="TLS inside" checked={one.https} onChange={value => change(index, { https: value })} />
          <Button small label={`Remove port ${index + 1}`} onClick={() => set({ ports: form.ports.filter((_, at) => at !== index) })}>
            ×
          </Button>
        </div>
      ))}
      <Button small onClick={() => set({ ports: [...form.ports, { port: '', public: false, https: false }] })}>
        Add a port
      </Button>
      <Check
        label="Every port"
        hint="Every port is exposed and public."
        checked={form.allPorts}
        onChange={allPorts => set({ allPorts })}
      />
      <TextField
        label="Host that servers see"
        name="mask_request_host"
        placeholder="The preview's name"
        hint="For servers that accept only one name, such as localhost:${PORT}."
        value={form.requestHost}
        error={props.errorOf('mask_request_host')}
        onInput={requestHost => set({ requestHost })}
      />
    </fieldset>
  )
}

function SizeFields(props: { form: Form; set: (part: Partial<Form>) => void; limits: Limits; errorOf: (field: string) => string | null }) {
  const { form, set, limits, errorOf } = props
  const may = limits.plan.resource_override
  const plan = `The plan ${limits.plan.name} allows only the template's size.`
  return (
    <div class="two">
      <SelectField
        label="Processors"
        name="cpu"
        value={form.cpu}
        disabled={!may}
        hint={may ? undefined : plan}
        error={errorOf('cpu')}
        choices={[
          { value: '', text: "The template's" },
          ...limits.cpu_values.map(value => ({ value: String(value), text: `${value} vCPU` })),
        ]}
        onChange={cpu => set({ cpu })}
      />
      <TextField
        label="Memory, MiB"
        name="memory_mb"
        type="number"
        min={limits.memory_mb_min}
        max={limits.memory_mb_max}
        step={limits.memory_mb_increment}
        placeholder="The template's"
        value={form.memory}
        hint={may ? `${limits.memory_mb_min} to ${limits.memory_mb_max}, in steps of ${limits.memory_mb_increment}.` : plan}
        error={errorOf('memory_mb')}
        onInput={memory => set({ memory })}
      />
    </div>
  )
}

export function SandboxCreate() {
  const team = useTeam()
  const mayWrite = useMayWrite()
  const wanted = usePlace().searchParams.get('from') ?? ''
  const [form, setForm] = useState<Form>({ ...FIRST, source: wanted })
  const limits = usePoll(signal => api.get('/v1/sandbox_limits', { query: { team: team.slug }, signal }), null, [team.slug])
  const sources = usePoll(signal => sourcesOf(team.slug, wanted, signal), CHOICES_MS, [team.slug, wanted])
  const volumes = usePoll(signal => api.get('/v1/volumes', { query: { team: team.slug, limit: 200 }, signal }), CHOICES_MS, [team.slug])
  const { busy, error, run } = useAction()
  const formElement = useRefusedForm(error)
  const keyOf = useIdempotencyKey()
  const set = (part: Partial<Form>): void => setForm(before => ({ ...before, ...part }))

  useEffect(() => {
    // The search can choose a checkpoint while this page is open.
    if (wanted) set({ source: wanted, version: '' })
  }, [wanted])
  useEffect(() => {
    // The form begins with what the team's sandboxes have by default.
    const kind = limits.data?.network_class
    if (!kind || form.ownPolicy) return
    set({ policy: { ...form.policy, internet: kind === 'internet', registries: kind === 'registries' } })
  }, [limits.data?.network_class])

  const request = requestOfForm(form, team.slug)
  const text = JSON.stringify(request)
  const curl = useMemo(() => curlOf('POST', '/v1/sandboxes', request), [text])
  const refused = error instanceof ApiError && error.field ? { field: fieldOf(error.field), text: messageOf(error) } : null
  const errorOf = (field: string): string | null => (refused?.field === field ? refused.text : null)
  const choices = sources.data ?? [{ value: wanted, text: wanted === '' ? 'The default template' : wanted }]
  const isTemplate = form.source !== '' && !form.source.startsWith('ckp_')

  const submit = (event: Event): void => {
    event.preventDefault()
    void run(async () => {
      const made = await api
        .post('/v1/sandboxes', { body: request, idempotencyKey: keyOf(request) })
        .catch((refusal: unknown) => {
          throw withLine(refusal, form.policy)
        })
      navigate(`/sandboxes/${made.id}`)
    })
  }
  if (!mayWrite)
    return (
      <Page title="New sandbox">
        <Note>Viewers cannot create sandboxes.</Note>
      </Page>
    )
  if (limits.loading) return <Loading />
  return (
    <Page title="New sandbox">
      <Problem error={limits.error ?? sources.error ?? volumes.error} />
      <div class="beside">
        <form ref={formElement} onSubmit={submit} class="card">
          <TextField
            label="Name"
            name="name"
            placeholder="None"
            maxLength={63}
            value={form.name}
            hint="Unique in the team. Commands and SSH accept it in place of the id."
            error={errorOf('name')}
            onInput={name => set({ name })}
          />
          <SelectField
            label="From"
            name="template"
            value={form.source}
            choices={choices}
            error={errorOf('template') ?? errorOf('snapshot_id')}
            onChange={source => set({ source, version: '' })}
          />
          {isTemplate && (
            <TextField
              label="Version"
              value={form.version}
              onInput={version => set({ version })}
              placeholder="Default"
              hint="A number, an id or a tag. Empty: the tag “default”, or the newest version if the template has no such tag."
              mono
            />
          )}
          {limits.data && <SizeFields form={form} set={set} limits={limits.data} errorOf={errorOf} />}
          <div class="two">
            <TextField
              label="Timeout, seconds"
              name="timeout"
              type="number"
              min={1}
              {...(limits.data ? { max: limits.data.max_timeout } : {})}
              required
              value={form.timeout}
              hint={limits.data ? `${formatSpan(Number(form.timeout) || 0)}; at most ${formatSpan(limits.data.max_timeout)}.` : undefined}
              error={errorOf('timeout')}
              onInput={timeout => set({ timeout })}
            />
            <SelectField
              label="At the deadline"
              name="on_timeout"
              value={form.onTimeout}
              choices={[
                { value: 'kill', text: 'Delete the sandbox' },
                { value: 'pause', text: 'Pause it' },
              ]}
              onChange={value => set({ onTimeout: value as Form['onTimeout'] })}
            />
          </div>
          <TextField
            label="Pause after this idle time, seconds"
            name="idle_timeout"
            type="number"
            min={30}
            value={form.idleTimeout}
            placeholder="Never"
            error={errorOf('lifecycle')}
            onInput={idleTimeout => set({ idleTimeout })}
          />
          {isPaused(form) && (
            <Check
              label="Resume on a request"
              hint="A request to a paused sandbox resumes it, and waits until it runs."
              checked={form.autoResume}
              onChange={autoResume => set({ autoResume })}
            />
          )}
          <Check
            label="A pause keeps memory and programs"
            checked={form.pauseMemory}
            onChange={pauseMemory => set({ pauseMemory })}
          />
          {form.pauseMemory && (
            <SelectField
              label="If memory cannot be kept"
              value={form.onPauseFailure}
              choices={[
                { value: 'disk', text: 'Pause with the disk only' },
                { value: 'keep_running', text: 'Keep running' },
              ]}
              onChange={value => set({ onPauseFailure: value as Form['onPauseFailure'] })}
            />
          )}
          <Pairs
            legend="Metadata"
            nameLabel="Key"
            valueLabel="Value"
            add="Add metadata"
            pairs={form.metadata}
            onChange={metadata => set({ metadata })}
          />
          <Pairs
            legend="Environment"
            hint="sandlot stores the values encrypted, and never shows them again."
            nameLabel="Name"
            valueLabel="Value"
            add="Add a variable"
            secret
            pairs={form.envs}
            onChange={envs => set({ envs })}
          />
          <Pairs
            legend="Volumes"
            {...(volumes.data?.volumes.length === 0 ? { hint: 'The team has no volume yet.' } : {})}
            nameLabel="Path in the sandbox"
            valueLabel="Volume"
            add="Mount a volume"
            choices={(volumes.data?.volumes ?? []).map(volume => ({ value: volume.name, text: volume.name }))}
            pairs={form.volumes}
            onChange={value => set({ volumes: value })}
          />
          <Ports form={form} set={set} errorOf={errorOf} />
          <fieldset>
            <legend>Network</legend>
            <Check
              label="Its own policy"
              hint={limits.data ? `Otherwise the team's default: ${limits.data.network_class}.` : ''}
              checked={form.ownPolicy}
              onChange={ownPolicy => set({ ownPolicy })}
            />
            {form.ownPolicy && <PolicyFields policy={form.policy} onChange={policy => set({ policy })} refused={refused} />}
          </fieldset>
          <Problem error={error} />
          <div class="actions end">
            <a class="btn" href="/sandboxes">
              Cancel
            </a>
            <Button type="submit" kind="primary" busy={busy}>
              Create the sandbox
            </Button>
          </div>
        </form>
        <aside aria-label="The same request for a program">
          <div class="card sticky">
            <div class="card-head">
              <h2>The same as curl</h2>
              <Copy text={curl} what="the curl command" />
            </div>
            <pre class="code" tabIndex={0}>
              {curl}
            </pre>
            {limits.data && (
              <>
                <h2>Quota of {team.slug}</h2>
                <Bar
                  label="Sandboxes"
                  used={limits.data.quota.usage.sandboxes}
                  of={limits.data.quota.limits.sandboxes}
                  text={`${limits.data.quota.usage.sandboxes} of ${limits.data.quota.limits.sandboxes}`}
                />
                <Bar
                  label="vCPUs"
                  used={limits.data.quota.usage.vcpus}
                  of={limits.data.quota.limits.vcpus}
                  text={`${limits.data.quota.usage.vcpus} of ${limits.data.quota.limits.vcpus}`}
                />
              </>
            )}
          </div>
        </aside>
      </div>
    </Page>
  )
}
