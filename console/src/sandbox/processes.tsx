// SPDX-License-Identifier: GPL-2.0-or-later
// What runs: the processes that were started from outside, everything else, and a command at a time.
import { useState } from 'preact/hooks'
import { dataFetch, rpc } from '../lib/dataplane'
import { formatBytes, formatShort, shorten } from '../lib/format'
import { usePoll } from '../lib/poll'
import type { TabProps } from '../pages/sandbox'
import { ACTIONS, Button, Empty, Loading, Problem, Table, TextField } from '../parts/basic'
import { ask, useAction } from '../parts/dialog'
import { Rows } from '../parts/rows'

interface Started {
  pid: number
  tag?: string
  config: { cmd: string; args?: string[]; cwd?: string }
}

interface Exec {
  exit_code: number
  signal: string | null
  timed_out: boolean
  stdout: string
  stdout_encoding: 'utf-8' | 'base64'
  stderr: string
  stderr_encoding: 'utf-8' | 'base64'
  truncated: boolean
  duration_ms: number
}

interface Running {
  pid: string
  user: string
  cpu: string
  bytes: number
  command: string
}

const LOOK_MS = 4000
/** How all processes are asked for. */
const ALL = ['-eo', 'pid=,user=,pcpu=,rss=,args=', '--sort=-pcpu']

export async function exec(sandbox: string, body: Record<string, unknown>, signal?: AbortSignal): Promise<Exec> {
  const response = await dataFetch(sandbox, {
    method: 'POST',
    path: '/exec',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  })
  return (await response.json()) as Exec
}

/** Lines of ps as they are asked for below. */
export function processesOf(text: string): Running[] {
  return text
    .split('\n')
    .map(line => /^\s*(\d+)\s+(\S+)\s+([\d.]+)\s+(\d+)\s+(.*)$/.exec(line))
    .filter(found => found !== null)
    .map(found => ({
      pid: found[1] ?? '',
      user: found[2] ?? '',
      cpu: found[3] ?? '',
      bytes: Number(found[4]) * 1024,
      command: found[5] ?? '',
    }))
}

function commandOf(process: Started): string {
  return [process.config.cmd, ...(process.config.args ?? [])].join(' ')
}

function StartedTable(props: { sandbox: string }) {
  const polled = usePoll(
    signal => rpc<{ processes?: Started[] }>(props.sandbox, 'process.Process/List', {}, signal),
    LOOK_MS,
    [props.sandbox],
  )
  const signal = (process: Started, name: 'SIGNAL_SIGTERM' | 'SIGNAL_SIGKILL'): void =>
    ask(
      `Send ${name.replace('SIGNAL_', '')} to process ${process.pid}?`,
      <code class="long">{shorten(commandOf(process), 200)}</code>,
      'Send',
      async () => {
        await rpc(props.sandbox, 'process.Process/SendSignal', { process: { pid: process.pid }, signal: name })
        polled.refresh()
      },
    )
  // Not the question that this page asks itself.
  const processes = (polled.data?.processes ?? []).filter(one => one.config.args?.[1] !== ALL[1])
  return (
    <section class="card" aria-label="Started from outside">
      <h2>Started from outside</h2>
      <Rows
        of={polled}
        none="None. This list shows terminals, and processes that clients have started over the data plane."
        label="Processes that were started from outside"
        dense
        head={['PID', 'Command', 'Tag', ACTIONS]}
      >
        {processes.map(process => (
          <tr key={process.pid}>
            <th scope="row" class="number">
              {process.pid}
            </th>
            <td>
              <code class="long">{shorten(commandOf(process), 200)}</code>
            </td>
            <td>{process.tag ?? ''}</td>
            <td class="row-actions">
              <Button small label={`Terminate process ${process.pid}`} onClick={() => signal(process, 'SIGNAL_SIGTERM')}>
                Terminate
              </Button>
              <Button small label={`Kill process ${process.pid}`} onClick={() => signal(process, 'SIGNAL_SIGKILL')}>
                Kill
              </Button>
            </td>
          </tr>
        ))}
      </Rows>
    </section>
  )
}

function AllTable(props: { sandbox: string }) {
  const polled = usePoll(
    async signal => {
      const answer = await exec(
        props.sandbox,
        { cmd: 'ps', args: ALL, user: 'root', timeout: 10 },
        signal,
      )
      if (answer.exit_code !== 0) throw new Error('This sandbox has no ps program that can list all processes')
      return processesOf(answer.stdout)
    },
    null,
    [props.sandbox],
  )
  return (
    <section class="card" aria-label="All processes">
      <div class="card-head">
        <h2>All processes</h2>
        <Button small icon="refresh" onClick={polled.refresh}>
          Refresh
        </Button>
      </div>
      <Problem error={polled.error} />
      {polled.loading && <Loading />}
      {polled.data && (
        <Table
          label="All processes"
          dense
          head={['PID', 'User', 'CPU', 'Memory', 'Command']}
        >
          {polled.data.map(process => (
            <tr key={process.pid}>
              <th scope="row" class="number">
                {process.pid}
              </th>
              <td>{process.user}</td>
              <td class="number nowrap">{formatShort(Number(process.cpu))} %</td>
              <td class="number nowrap">{formatBytes(process.bytes)}</td>
              <td>
                <code class="long">{shorten(process.command, 300)}</code>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

function readable(text: string, encoding: string): string {
  return encoding === 'base64' ? '(bytes that are not text)' : text
}

function Run(props: { sandbox: string }) {
  const [cmd, setCmd] = useState('')
  const [answer, setAnswer] = useState<Exec | null>(null)
  const { busy, error, run } = useAction()
  return (
    <section class="card" aria-label="Run a command">
      <h2>Run a command</h2>
      <form
        class="inline"
        onSubmit={event => {
          event.preventDefault()
          void run(async () => {
            setAnswer(null)
            setAnswer(await exec(props.sandbox, { cmd, timeout: 60 }))
          })
        }}
      >
        <TextField label="Command" mono value={cmd} onInput={setCmd} placeholder="uname -a" required />
        <Button type="submit" busy={busy}>
          Run
        </Button>
      </form>
      <Problem error={error} />
      {busy && <p role="status">It is running, for at most a minute.</p>}
      {answer && (
        <div aria-live="polite">
          <p class="muted">
            Ended with {answer.signal ?? answer.exit_code} after {formatShort(answer.duration_ms / 1000)} s
            {answer.timed_out ? ', at its time limit' : ''}
            {answer.truncated ? '; the output was cut off' : ''}
          </p>
          {answer.stdout !== '' && (
            <pre class="code" tabIndex={0} aria-label="Standard output">
              {readable(answer.stdout, answer.stdout_encoding)}
            </pre>
          )}
          {answer.stderr !== '' && (
            <pre class="code bad" tabIndex={0} aria-label="Standard error">
              {readable(answer.stderr, answer.stderr_encoding)}
            </pre>
          )}
          {answer.stdout === '' && answer.stderr === '' && <Empty title="No output" />}
        </div>
      )}
    </section>
  )
}

export function Processes(props: TabProps) {
  if (!props.mayWrite) return null
  const id = props.sandbox.id
  return (
    <>
      <Run sandbox={id} />
      <StartedTable sandbox={id} />
      <AllTable sandbox={id} />
    </>
  )
}
