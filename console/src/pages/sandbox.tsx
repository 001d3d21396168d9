// SPDX-License-Identifier: GPL-2.0-or-later
// One sandbox: its state and what can be done with it, and the tabs of what is in it.
import { useState } from 'preact/hooks'
import { changeRecord } from '../lib/changes'
import { ApiError, api, type Schemas } from '../lib/client'
import { forgetAccess } from '../lib/dataplane'
import { messageOf } from '../lib/errors'
import { formatSpan } from '../lib/format'
import { useIdempotencyKey } from '../lib/idempotency'
import { usePoll, type Polled } from '../lib/poll'
import { navigate, useTitle } from '../lib/router'
import { useMayWrite, useTeamOf } from '../lib/session'
import { Activity } from '../parts/activity'
import { Button, Check, Copy, Countdown, Fact, Facts, Id, Loading, Problem, State, TextField, Time } from '../parts/basic'
import { FormDialog, ask, say, useAction } from '../parts/dialog'
import { lazy } from '../parts/lazy'
import { Tabs } from '../parts/tabs'
import { Connect } from '../sandbox/connect'
import { Life } from '../sandbox/life'
import { MetadataEditor } from '../sandbox/metadata'
import { Network, type EditState } from '../sandbox/network'
import type { PolicyEdit } from '../sandbox/policy'
import { Ports } from '../sandbox/ports'
import { Resume } from '../sandbox/resume'

export type Sandbox = Schemas['Sandbox']
export interface TabProps {
  sandbox: Sandbox
  mayWrite: boolean
  shown: boolean
}

const Terminals = lazy<TabProps>(() => import('../terminal/terminals').then(module => module.Terminals))
const Files = lazy<TabProps>(() => import('../sandbox/files').then(module => module.SandboxFiles))
const Processes = lazy<TabProps>(() => import('../sandbox/processes').then(module => module.Processes))
const Metrics = lazy<TabProps>(() => import('../sandbox/metrics').then(module => module.Metrics))

const Logs = lazy<TabProps>(() => import('../sandbox/logs').then(module => module.Logs))

const LIVE_MS = 2500
const TABS: [string, string][] = [
  ['', 'Overview'],
  ['terminal', 'Terminal'],
  ['files', 'Files'],
  ['processes', 'Processes'],
  ['ports', 'Ports'],
  ['network', 'Network'],
  ['metrics', 'Metrics'],
  ['logs', 'Logs'],
]
/** Tabs that read from inside the sandbox, with a token. Viewers get no token. */
const INSIDE = new Set(['terminal', 'files', 'processes'])

const REASONS: Record<NonNullable<Sandbox['reason']>, string> = {
  request: 'paused on request',
  deadline: 'paused at its deadline',
  idleness: 'paused because it was idle',
  move: 'moving to another host',
  ended: 'ended by itself, or with its host',
  rebooting: 'rebooted repeatedly',
  memory_lost: 'its memory was lost after a resume',
  host_lost: 'its host is lost',
}

export function isRunning(sandbox: Sandbox): boolean {
  return sandbox.state === 'ready' || sandbox.state === 'checkpointing'
}

/** The name of a sandbox, or its id if it has no name. */
export const nameOf = (sandbox: Sandbox): string => sandbox.name ?? sandbox.id

function RenameDialog(props: { sandbox: Sandbox; onClose: () => void; onDone: (sandbox: Sandbox) => void }) {
  const [name, setName] = useState(props.sandbox.name ?? '')
  const [loaded, setLoaded] = useState(props.sandbox)
  const path = { id: loaded.id }
  return (
    <FormDialog
      title={`Rename ${nameOf(props.sandbox)}`}
      action="Rename"
      onClose={props.onClose}
      submit={async () => {
        props.onDone(
          await changeRecord({
            loaded,
            shown: one => ({ Name: one.name ?? '' }),
            read: () => api.get('/v1/sandboxes/{id}', { path }),
            write: record => api.patch('/v1/sandboxes/{id}', { path, body: { name: name || null }, ifMatch: record }),
            load: setLoaded,
          }),
        )
        props.onClose()
      }}
    >
      <TextField
        label="Name"
        member="name"
        autoFocus
        value={name}
        onInput={setName}
        maxLength={63}
        hint="Unique in the team. Commands and SSH accept it in place of the id. Empty: no name."
      />
    </FormDialog>
  )
}

function ExtendDialog(props: { sandbox: Sandbox; onClose: () => void; onDone: (sandbox: Sandbox) => void }) {
  const [seconds, setSeconds] = useState(String(props.sandbox.timeout))
  const [shortens, setShortens] = useState(false)
  const path = { id: props.sandbox.id }
  const timeout = Number(seconds)
  return (
    <FormDialog
      title={`Extend ${nameOf(props.sandbox)}`}
      action={shortens ? 'Set the deadline' : 'Extend'}
      onClose={props.onClose}
      submit={async () => {
        props.onDone(
          shortens
            ? await api.patch('/v1/sandboxes/{id}', { path, body: { timeout } })
            : (await api.post('/v1/sandboxes/{id}/connect', { path, body: { timeout, extend_only: true } })).sandbox,
        )
        props.onClose()
      }}
    >
      <TextField
        label="Seconds from now"
        member="timeout"
        type="number"
        min={1}
        required
        autoFocus
        value={seconds}
        onInput={setSeconds}
        hint={`The deadline will be ${shortens ? '' : 'at least '}${formatSpan(timeout || 0)} from now.`}
      />
      <div class="actions">
        {[300, 3600, 14400].map(value => (
          <Button key={value} small onClick={() => setSeconds(String(value))}>
            {formatSpan(value)}
          </Button>
        ))}
      </div>
      <Check label="Set this deadline even if it is earlier" checked={shortens} onChange={setShortens} />
    </FormDialog>
  )
}

function CheckpointDialog(props: { sandbox: Sandbox; onClose: () => void }) {
  const [name, setName] = useState('')
  const keyOf = useIdempotencyKey()
  return (
    <FormDialog
      title={`New checkpoint of ${nameOf(props.sandbox)}`}
      action="Create"
      onClose={props.onClose}
      submit={async () => {
        const path = { id: props.sandbox.id }
        const made = await api.post('/v1/sandboxes/{id}/checkpoints', { path, body: { name }, idempotencyKey: keyOf({ name }) })
        say(`Checkpoint ${made.name} is made.`)
        props.onClose()
      }}
    >
      <p>A checkpoint keeps the disk as it is now; new sandboxes can start from it.</p>
      <TextField label="Name" member="name" required autoFocus value={name} onInput={setName} maxLength={128} />
    </FormDialog>
  )
}

function ForkDialog(props: { sandbox: Sandbox; onClose: () => void }) {
  const [name, setName] = useState('')
  const keyOf = useIdempotencyKey()
  return (
    <FormDialog
      title={`Fork ${nameOf(props.sandbox)}`}
      action="Fork"
      onClose={props.onClose}
      submit={async () => {
        const path = { id: props.sandbox.id }
        const body = { count: 1, ...(name ? { name } : {}) }
        const { forks } = await api.post('/v1/sandboxes/{id}/fork', { path, body, idempotencyKey: keyOf(body) })
        const made = forks[0]
        if (!made?.sandbox) throw new Error(made?.error?.message ?? 'No fork was created')
        props.onClose()
        navigate(`/sandboxes/${made.sandbox.id}`)
      }}
    >
      <p>A fork is a copy of the present disk, memory and programs. It has its own address and deadline.</p>
      <TextField label="Name" member="name" autoFocus value={name} onInput={setName} maxLength={63} hint="Empty: no name." />
    </FormDialog>
  )
}

function Actions(props: { sandbox: Sandbox; polled: Polled<Sandbox> }) {
  const { sandbox, polled } = props
  const [dialog, setDialog] = useState<'rename' | 'extend' | 'checkpoint' | 'fork' | null>(null)
  const { busy, error, run } = useAction()
  const path = { id: sandbox.id }
  const pause = (): void =>
    void run(async () => polled.put(await api.post('/v1/sandboxes/{id}/pause', { path, body: {} })))
  const resume = (): void =>
    void run(async () => polled.put((await api.post('/v1/sandboxes/{id}/resume', { path, body: {} })).sandbox))
  const remove = (): void =>
    ask(`Delete the sandbox ${nameOf(sandbox)}?`, 'This deletes its disk and ends its programs.', 'Delete', async () => {
      await api.delete('/v1/sandboxes/{id}', { path })
      forgetAccess(sandbox.id)
      say(`The sandbox ${nameOf(sandbox)} is deleted.`)
      navigate('/sandboxes')
    })
  const stopped = sandbox.state === 'stopped'
  const live = isRunning(sandbox)
  return (
    <>
      <div class="actions">
        {live && (
          <Button icon="clock" onClick={() => setDialog('extend')}>
            Extend
          </Button>
        )}
        {live && (
          <Button icon="pause" onClick={pause} busy={busy}>
            Pause
          </Button>
        )}
        {stopped && (
          <Button kind="primary" icon="play" onClick={resume} busy={busy}>
            Resume
          </Button>
        )}
        {(live || stopped) && (
          <Button icon="mark" onClick={() => setDialog('checkpoint')}>
            Checkpoint
          </Button>
        )}
        {(live || stopped) && (
          <Button icon="branch" onClick={() => setDialog('fork')}>
            Fork
          </Button>
        )}
        <Button icon="pencil" onClick={() => setDialog('rename')}>
          Rename
        </Button>
        <Button kind="danger" icon="trash" onClick={remove}>
          Delete
        </Button>
      </div>
      {error !== null && <Problem error={error} />}
      {dialog === 'rename' && <RenameDialog sandbox={sandbox} onClose={() => setDialog(null)} onDone={polled.put} />}
      {dialog === 'extend' && <ExtendDialog sandbox={sandbox} onClose={() => setDialog(null)} onDone={polled.put} />}
      {dialog === 'fork' && <ForkDialog sandbox={sandbox} onClose={() => setDialog(null)} />}
      {dialog === 'checkpoint' && <CheckpointDialog sandbox={sandbox} onClose={() => setDialog(null)} />}
    </>
  )
}

function Deadline(props: { sandbox: Sandbox }) {
  const { sandbox } = props
  if (sandbox.state === 'stopped') {
    return sandbox.cleanup_at ? (
      <>
        deleted <Time at={sandbox.cleanup_at} />
      </>
    ) : (
      <>none during a pause</>
    )
  }
  if (!sandbox.deadline) return <>none</>
  return (
    <>
      {sandbox.lifecycle.on_timeout === 'pause' ? 'pauses in ' : 'deleted in '}
      <Countdown to={sandbox.deadline} past="a moment" />
    </>
  )
}

function Overview(props: { sandbox: Sandbox; mayWrite: boolean; put: (sandbox: Sandbox) => void }) {
  const { sandbox } = props
  const mounts = Object.entries(sandbox.volume_mounts)
  return (
    <div class="columns">
      <section class="card" aria-label="Facts">
        <h2>Facts</h2>
        <Facts>
          <Fact name="Team">{sandbox.team}</Fact>
          <Fact name="Template">
            <a href={`/templates/${sandbox.template}`}>{sandbox.template}</a>
          </Fact>
          <Fact name="Version">
            <Id value={sandbox.template_version} />
          </Fact>
          {sandbox.snapshot_id && (
            <Fact name="Checkpoint">
              <Id value={sandbox.snapshot_id} />
            </Fact>
          )}
          <Fact name="Size">
            {sandbox.cpu} vCPU, {sandbox.memory_mb} MiB memory, {sandbox.disk_gb} GiB disk
          </Fact>
          <Fact name="Isolation">{sandbox.isolation === 'vm' ? 'virtual machine' : 'container'}</Fact>
          <Fact name="Timeout">{formatSpan(sandbox.timeout)}</Fact>
          <Fact name="At the deadline">
            {sandbox.lifecycle.on_timeout === 'pause' ? 'paused' : 'deleted'}
            {sandbox.lifecycle.auto_resume && ', resumed at a request'}
          </Fact>
          {sandbox.lifecycle.idle_timeout && (
            <Fact name="Paused after idling for">{formatSpan(sandbox.lifecycle.idle_timeout)}</Fact>
          )}
          {sandbox.hold_until && (
            <Fact name="Held awake until">
              <Time at={sandbox.hold_until} />
            </Fact>
          )}
          <Fact name="A pause keeps">{sandbox.lifecycle.pause_memory ? 'disk and memory' : 'the disk only'}</Fact>
          <Fact name="Created">
            <Time at={sandbox.created_at} />
          </Fact>
          <Fact name="Changed">
            <Time at={sandbox.updated_at} />
          </Fact>
          {sandbox.reason && <Fact name="Reason of the pause">{REASONS[sandbox.reason]}</Fact>}
          {sandbox.resumed_from && <Fact name="Last resumed from">{sandbox.resumed_from}</Fact>}
          {sandbox.silent_since && (
            <Fact name="Agent silent since">
              <Time at={sandbox.silent_since} />
            </Fact>
          )}
          {mounts.map(([path, volume]) => (
            <Fact key={path} name={`Volume at ${path}`}>
              {volume}
            </Fact>
          ))}
        </Facts>
      </section>
      <div>
        <Life sandbox={sandbox} mayWrite={props.mayWrite} />
        <MetadataEditor sandbox={sandbox} mayWrite={props.mayWrite} put={props.put} />
        {props.mayWrite && <Connect sandbox={sandbox} />}
      </div>
    </div>
  )
}

function Gone(props: { error: unknown }) {
  return (
    <div class="empty">
      <h1>No such sandbox</h1>
      <p>{messageOf(props.error)}</p>
      <p>
        <a href="/sandboxes">Go to the sandboxes</a>
      </p>
    </div>
  )
}

function Inside(props: { sandbox: Sandbox; mayWrite: boolean; tab: string; visited: Set<string>; edit: EditState }) {
  const { sandbox, tab, visited } = props
  if (INSIDE.has(tab) && !props.mayWrite) return <p class="note">Viewers cannot enter a sandbox.</p>
  const away = INSIDE.has(tab) && !isRunning(sandbox) && tab !== 'terminal'
  const propsOf = (name: string): TabProps => ({ sandbox, mayWrite: props.mayWrite, shown: tab === name })
  return (
    <>
      {away && <Resume sandbox={sandbox} words="Resume it to open this tab." />}
      {props.mayWrite && visited.has('terminal') && (
        <div hidden={tab !== 'terminal'}>
          <Terminals {...propsOf('terminal')} />
        </div>
      )}
      {props.mayWrite && visited.has('files') && (
        <div hidden={tab !== 'files'}>
          <Files {...propsOf('files')} />
        </div>
      )}
      {tab === 'processes' && !away && <Processes {...propsOf('processes')} />}
      {tab === 'ports' && <Ports {...propsOf('ports')} />}
      {tab === 'network' && <Network {...propsOf('network')} edit={props.edit} />}
      {tab === 'metrics' && <Metrics {...propsOf('metrics')} />}
      {tab === 'logs' && <Logs {...propsOf('logs')} />}
    </>
  )
}

export function SandboxPage(props: { parts: Record<string, string> }) {
  const id = props.parts['id'] ?? ''
  const tab = props.parts['tab'] ?? ''
  const [visited] = useState(() => new Set<string>())
  const edit: EditState = useState<PolicyEdit | null>(null)
  const polled = usePoll<Sandbox>(signal => api.get('/v1/sandboxes/{id}', { path: { id }, signal }), LIVE_MS, [id])
  const sandbox = polled.data
  // A list of files that loads would wake a paused sandbox. One that is there stays, with an open file.
  if (tab !== 'files' || (sandbox && isRunning(sandbox))) visited.add(tab)
  const mayWrite = useMayWrite(sandbox?.team)
  useTeamOf(sandbox?.team)
  const wayTo = (name: string): string => `/sandboxes/${id}${name === '' ? '' : `/${name}`}`
  const tabs = TABS.filter(([name]) => mayWrite || !INSIDE.has(name))
  useTitle(`${TABS.find(([name]) => name === tab)?.[1] ?? 'Sandbox'} of ${sandbox ? nameOf(sandbox) : id}`)

  if (polled.error instanceof ApiError && polled.error.status === 404) return <Gone error={polled.error} />
  if (!sandbox) return polled.error ? <Problem error={polled.error} /> : <Loading />
  return (
    <>
      <header class="page-head sandbox-head">
        <div>
          <p class="crumbs">
            <a href="/sandboxes">Sandboxes</a>
          </p>
          <h1>
            {sandbox.name ?? <code>{sandbox.id}</code>} <Copy text={sandbox.id} what="the id" />
          </h1>
          {sandbox.name && (
            <p class="muted">
              <Id value={sandbox.id} />
            </p>
          )}
          <p class="status" data-state={sandbox.state}>
            <State value={sandbox.state} />
            <span class="muted">
              {sandbox.template} · <Deadline sandbox={sandbox} />
            </span>
          </p>
        </div>
        {mayWrite && (
          <div>
            <Actions sandbox={sandbox} polled={polled} />
          </div>
        )}
      </header>
      <Problem error={polled.error} />
      <Tabs label="Parts of the sandbox" ways={tabs.map(([name, words]) => [wayTo(name), words])} current={wayTo(tab)} />
      {tab === '' && <Overview sandbox={sandbox} mayWrite={mayWrite} put={polled.put} />}
      {tab === '' && <Activity team={sandbox.team} resource={sandbox.id} />}
      <Inside sandbox={sandbox} mayWrite={mayWrite} tab={tab} visited={visited} edit={edit} />
    </>
  )
}
