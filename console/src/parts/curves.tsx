// SPDX-License-Identifier: GPL-2.0-or-later
import { api } from '../lib/client'
import { usePoll } from '../lib/poll'
import { Loading, Problem } from './basic'
import { Used } from './chart'
import type { CurvesOf } from './curves_button'

const LOOK_MS = 60_000
const DAY_MS = 86_400_000
const MIB = 1048576

export function Curves(props: CurvesOf) {
  const polled = usePoll(
    signal => api.get('/v1/operator/metrics', { query: { ...props, from: new Date(Date.now() - DAY_MS).toISOString() }, signal }),
    LOOK_MS,
    [props.host, props.team],
  )
  const points = polled.data?.points ?? []
  return (
    <>
      <Problem error={polled.error} />
      {polled.loading && <Loading />}
      {polled.data && points.length === 0 && <p class="muted">No sandbox ran on this day.</p>}
      {points.length > 0 && <Used points={points} vcpus={1} bytes={MIB} />}
    </>
  )
}
