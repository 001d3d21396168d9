// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers and times as the viewer's browser writes them, in the viewer's zone.

const minute = { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' } as const
const dayAndTime = new Intl.DateTimeFormat(undefined, minute)
const yearAndTime = new Intl.DateTimeFormat(undefined, { ...minute, year: 'numeric' })
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })
const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 })
const fine = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 })

/** The year only where it is another one. */
export function formatTime(text: string): string {
  const at = new Date(text)
  return (at.getFullYear() === new Date().getFullYear() ? dayAndTime : yearAndTime).format(at)
}

export const formatExact = (text: string): string => exact.format(new Date(text))
export const formatNumber = (value: number): string => whole.format(value)
export const formatShort = (value: number): string => (Math.abs(value) < 1 ? fine : short).format(value)

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 ? whole.format(value) : short.format(value)} ${UNITS[unit]}`
}

/** 3725 → "1 h 2 min"; under ten minutes with the seconds. */
export function formatSpan(seconds: number): string {
  const s = Math.max(0, Math.round(seconds))
  if (s < 60) return `${s} s`
  const minutes = Math.floor(s / 60)
  if (minutes < 10 && s % 60 > 0) return `${minutes} min ${String(s % 60).padStart(2, '0')} s`
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  return hours % 24 === 0 ? `${hours / 24} d` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** Text that no one line of a page is thrown out of shape by. */
export function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${whole.format(count)} ${count === 1 ? one : many}`
}
