// SPDX-License-Identifier: GPL-2.0-or-later
import { useRef } from 'preact/hooks'

/** Returns the key for a request: the same while the body is the same, so that a retry after a lost answer creates one object. */
export function useIdempotencyKey(): (body: object) => string {
  const last = useRef({ body: '', key: '' })
  return body => {
    const text = JSON.stringify(body)
    if (text !== last.current.body) last.current = { body: text, key: crypto.randomUUID() }
    return last.current.key
  }
}
