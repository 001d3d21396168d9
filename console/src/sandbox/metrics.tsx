// SPDX-License-Identifier: GPL-2.0-or-later
import { useState } from 'preact/hooks'
import { api } from '../lib/client'
import { formatBytes } from '../lib/format'
import { usePoll } from '../lib/poll'
import type { TabProps } from '../pages/sandbox'
import { Empty, Loading, Problem } from '../parts/basic'
import { Chart, Used, type Line } from '../parts/chart'

const LOOK_MS = 10_000
const SPANS: [number, string][] = [
  [900, '15 minutes'],
  [3600, 'An hour'],
  [21600, '6 hours'],
  [86400, 'A day'],
  [604800, 'A week'],
]
const DISK: Line[] = [{ label: 'written', color: '--chart-1', fill: true, value: point => point.disk_used_bytes }]

export function Metrics(props: TabProps) {
  const { sandbox } = props
  const [span, setSpan] = useState(900)
  const polled = usePoll(
    signal =>
      api.get('/v1/sandboxes/{id}/metrics', {
        path: { id: sandbox.id },
        query: { from: new Date(Date.now() - span * 1000).toISOString() },
        signal,
      }),
    LOOK_MS,
    [sandbox.id, span],
  )
  const points = polled.data?.points ?? []
  return (
    <section class="card" aria-label="Metrics">
      <div class="card-head">
        <h2>Metrics</h2>
        <label class="side-by-side">
          <span>Of the last</span>
          <select value={String(span)} onChange={event => setSpan(Number(event.currentTarget.value))}>
            {SPANS.map(([seconds, words]) => (
              <option key={seconds} value={String(seconds)} selected={seconds === span}>
                {words}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Problem error={polled.error} />
      {polled.loading && <Loading />}
      {polled.data && points.length === 0 && (
        <Empty title="No samples in this span">
          <p>sandlot takes samples while the sandbox runs. The first one comes shortly after the start.</p>
        </Empty>
      )}
      {points.length > 0 && (
        <>
          <Used points={points} vcpus={sandbox.cpu} bytes={sandbox.memory_mb * 1048576} />
          <Chart title="Disk" points={points} lines={DISK} format={formatBytes} bytes top={1048576} />
        </>
      )}
    </section>
  )
}
