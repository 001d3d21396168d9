// SPDX-License-Identifier: GPL-2.0-or-later
// A curve of the processors that a sandbox used in the last quarter of an hour.
import { api, type Schemas } from '../lib/client'
import { formatBytes, formatShort } from '../lib/format'
import { usePoll } from '../lib/poll'
import { stateWord } from '../lib/states'
import { Icon } from '../parts/icon'

type Sandbox = Schemas['Sandbox']
type Point = Schemas['MetricsPoint']

const LOOK_MS = 10_000
const SPAN_MS = 900_000
const MIB = 1048576
const WIDTH = 300
const HEIGHT = 48

/** The line in a box of WIDTH by HEIGHT: time to the right, all processors at the top. */
function lineOf(points: Point[], most: number): string {
  const end = Date.now()
  return points
    .filter(point => point.vcpus_used !== null)
    .map(point => {
      const x = WIDTH * (1 - (end - Date.parse(point.at)) / SPAN_MS)
      const y = HEIGHT * (1 - Math.min(1, (point.vcpus_used ?? 0) / most))
      return `${x.toFixed(1)},${y.toFixed(1)}`
    })
    .join(' ')
}

export function Life(props: { sandbox: Sandbox; mayWrite: boolean }) {
  const { sandbox } = props
  const running = sandbox.state === 'ready'
  const polled = usePoll(
    signal =>
      api.get('/v1/sandboxes/{id}/metrics', {
        path: { id: sandbox.id },
        query: { from: new Date(Date.now() - SPAN_MS).toISOString() },
        signal,
      }),
    running ? LOOK_MS : null,
    [sandbox.id, running],
  )
  const points = polled.data?.points ?? []
  const last = points[points.length - 1]
  const words =
    running && last && last.vcpus_used !== null
      ? `${formatShort(last.vcpus_used)} of ${sandbox.cpu} vCPU, ${formatBytes(last.memory_used_bytes)} of ${formatBytes(sandbox.memory_mb * MIB)}`
      : running
        ? 'The first sample comes shortly after the start.'
        : `The sandbox is ${stateWord(sandbox.state)}.`
  return (
    <section class="card" aria-label="Use">
      <div class="card-head">
        <h2>CPU, last 15 minutes</h2>
        {props.mayWrite && running && (
          <a class="btn small" href={`/sandboxes/${sandbox.id}/terminal`}>
            <Icon name="terminal" />
            Open a terminal
          </a>
        )}
      </div>
      <svg class="line" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <polyline points={lineOf(points, sandbox.cpu)} />
      </svg>
      <p class="fine" role="status">
        {words}
      </p>
    </section>
  )
}
