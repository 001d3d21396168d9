// SPDX-License-Identifier: GPL-2.0-or-later
// Changes of records that several people edit at once: no change overwrites another unseen.
import { hasEtag } from './client'
import { ApiError } from './errors'

/** The part of a record that a form edits: its labels, and their values as text. */
export type Shown = Record<string, string>

/** Somebody has changed the part of the record that the form edits. load: continues with the newer record. */
export class ChangedError extends Error {
  constructor(words: string, readonly load: () => void) {
    super(`Somebody has changed this in the meantime. ${words}`)
  }
}

export const isPreconditionFailed = (error: unknown): boolean => error instanceof ApiError && error.status === 412

function differences(before: Shown, now: Shown): string {
  const labels = Object.keys(now).filter(label => now[label] !== before[label])
  return labels.map(label => `${label} now: ${now[label] || 'empty'}.`).join(' ')
}

const TRIES = 4

/**
 * Changes a record on the condition that it is as it was loaded. If only other parts of the record have changed,
 * tries again with the newest record; if a shown part has, throws a ChangedError.
 */
export async function changeRecord<T extends object, A>(change: {
  loaded: T
  shown: (record: T) => Shown
  read: () => Promise<T>
  /** Sends the change with the record as `ifMatch`. */
  write: (record: T) => Promise<A>
  load: (record: T) => void
}): Promise<A> {
  const { loaded, shown, read, write, load } = change
  let record = hasEtag(loaded) ? loaded : await read()
  for (let tries = 1; ; tries++) {
    const newest = record
    const words = differences(shown(loaded), shown(newest))
    if (words !== '') throw new ChangedError(words, () => load(newest))
    try {
      return await write(newest)
    } catch (error) {
      if (!isPreconditionFailed(error) || tries === TRIES) throw error
      record = await read()
    }
  }
}

/** The newest entries, with what somebody has added and removed since the first ones. */
export function mergeEntries(first: string[], edited: string[], newest: string[]): string[] {
  const kept = newest.filter(entry => edited.includes(entry) || !first.includes(entry))
  return [...kept, ...edited.filter(entry => !first.includes(entry) && !newest.includes(entry))]
}

/** The refusal of a name that exists, at the field of the name. */
export function atField(refusal: unknown, field: string, text: string): unknown {
  return isPreconditionFailed(refusal) ? new ApiError(412, 'precondition_failed', text, field) : refusal
}
