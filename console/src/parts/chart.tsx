// SPDX-License-Identifier: GPL-2.0-or-later
// A chart of values over time, and the lines of processors and memory.
import 'uplot/dist/uPlot.min.css'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import type { Schemas } from '../lib/client'
import { formatBytes, formatShort } from '../lib/format'
import { useStore } from '../lib/store'
import { shownTheme } from '../lib/theme'

export type Point = Schemas['MetricsPoint']

export interface Line {
  label: string
  color: string
  fill?: boolean
  value: (point: Point) => number | null
}

interface ChartProps {
  title: string
  points: Point[]
  lines: Line[]
  format: (value: number) => string
  /** The scale reaches at least up to this. */
  top: number
  bytes?: boolean
}

const HEIGHT = 190

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim()
}

function dataOf(points: Point[], lines: Line[]): uPlot.AlignedData {
  const at = points.map(point => Date.parse(point.at) / 1000)
  return [at, ...lines.map(line => points.map(line.value))] as uPlot.AlignedData
}

/** Whole KiB, MiB, GiB at the axis. */
const POWERS_OF_TWO = Array.from({ length: 31 }, (_, power) => 1024 * 2 ** power)

const clock = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
const exactClock = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit', second: '2-digit' })
const dayAndClock = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' })
const MINUTE_S = 60
const DAY_S = 86400

/** As the viewer's browser writes times, as exactly as the ticks are apart. */
function ticksOf(ticks: number[]): string[] {
  const apart = ticks.length > 1 ? (ticks[1] ?? 0) - (ticks[0] ?? 0) : MINUTE_S
  const format = apart < MINUTE_S ? exactClock : apart < DAY_S / 4 ? clock : dayAndClock
  return ticks.map(tick => format.format(tick * 1000))
}

const isAlone = (plot: uPlot): boolean => plot.data[0].length === 1

/** Of one sample alone the library would show years, with the sample at their begin. */
function minuteAtLeast(plot: uPlot, min: number, max: number): [number, number] {
  const end = isAlone(plot) ? min : max
  return [Math.min(min, end - MINUTE_S), end]
}

function optionsOf(props: ChartProps, width: number): uPlot.Options {
  const { title, lines, format, top } = props
  const axis = { stroke: color('--muted'), grid: { stroke: color('--line'), width: 1 }, ticks: { stroke: color('--line'), width: 1 } }
  return {
    width,
    height: HEIGHT,
    title,
    cursor: { sync: { key: 'metrics' }, y: false },
    scales: { x: { time: true, range: minuteAtLeast }, y: { range: (_, __, max) => [0, Math.max(max * 1.1, top)] } },
    axes: [
      { ...axis, space: 90, values: (_, ticks) => ticksOf(ticks) },
      { ...axis, size: 76, values: (_, ticks) => ticks.map(format), ...(props.bytes ? { incrs: POWERS_OF_TWO } : {}) },
    ],
    series: [
      { value: (_, at) => (at === null ? '–' : exactClock.format(at * 1000)) },
      ...lines.map(line => ({
        label: line.label,
        stroke: color(line.color),
        width: 1.5,
        ...(line.fill ? { fill: color('--chart-fill') } : {}),
        points: { show: isAlone },
        value: (_: uPlot, value: number | null) => (value === null ? '–' : format(value)),
      })),
    ],
  }
}

export function Chart(props: ChartProps) {
  const frame = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const drawn = useStore(shownTheme)
  // Before the page is painted, so that what is below does not jump.
  useLayoutEffect(() => {
    const element = frame.current
    if (!element) return
    const made = new uPlot(optionsOf(props, element.clientWidth), dataOf(props.points, props.lines), element)
    plot.current = made
    const watcher = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }))
    watcher.observe(element)
    return () => {
      watcher.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [drawn, props.top])
  useEffect(() => {
    plot.current?.setData(dataOf(props.points, props.lines))
  }, [props.points])
  const last = props.points[props.points.length - 1]
  const said = props.lines
    .map(line => {
      const value = last ? line.value(last) : null
      return `${line.label} ${value === null ? 'not known' : props.format(value)}`
    })
    .join(', ')
  return (
    <figure class="chart">
      <div ref={frame} aria-hidden="true" />
      <figcaption>
        {props.title} now: {said}
      </figcaption>
    </figure>
  )
}

const CPU: Line[] = [
  { label: 'highest', color: '--chart-2', value: point => point.vcpus_used_max },
  { label: 'mean', color: '--chart-1', fill: true, value: point => point.vcpus_used },
]
const MEMORY: Line[] = [
  { label: 'highest', color: '--chart-2', value: point => point.memory_used_bytes_max },
  { label: 'used', color: '--chart-1', fill: true, value: point => point.memory_used_bytes },
  { label: 'cache', color: '--chart-3', value: point => point.memory_cache_bytes },
]

const formatCpu = (value: number): string => `${formatShort(value)} vCPU`

/** Curves of processors and memory. Each scale reaches at least to the limit. */
export function Used(props: { points: Point[]; vcpus: number; bytes: number }) {
  const { points, vcpus, bytes } = props
  return (
    <>
      <Chart title="Processors" points={points} lines={CPU} format={formatCpu} top={vcpus} />
      <Chart title="Memory" points={points} lines={MEMORY} format={formatBytes} bytes top={bytes} />
    </>
  )
}
