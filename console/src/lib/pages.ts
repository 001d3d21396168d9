// SPDX-License-Identifier: GPL-2.0-or-later
// Long lists, page by page, that stay true while rows come and go.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { signedOut, whenSignedIn } from './client'
import { isAbort, triedAgain } from './errors'
import { useTeam } from './session'

interface Row {
  id: string
}

interface PageOf<T> {
  rows: T[]
  next: string | undefined
}

export type LoadPage<T> = (token: string | undefined, signal: AbortSignal) => Promise<PageOf<T>>

/** Where a page begins: its token, and the id of the row before it (none: the first page). */
interface Cursor {
  token: string | undefined
  after: string | null
}

export interface Listed<T> {
  rows: T[]
  error: unknown
  loading: boolean
  more: boolean
  loadMore: () => void
  refresh: () => void
  put: (row: T) => void
  remove: (id: string) => void
}

/**
 * Rows are newest first and their ids sort by when they were made, so a page's answer stands for all
 * rows between two ids: what it does not have is gone. One page is looked at again every everyMs, the
 * first each second time, so that a long list costs no more than a short one.
 */
export function useList<T extends Row>(
  load: LoadPage<T>,
  everyMs: number,
  dependencies: readonly unknown[],
): Listed<T> {
  const [shown, setShown] = useState<{ rows: T[]; more: boolean; error: unknown; loading: boolean }>({
    rows: [],
    more: false,
    error: null,
    loading: true,
  })
  const latest = useRef(load)
  latest.current = load
  const calls = useRef({ more: () => {}, refresh: () => {}, put: (_: T) => {}, remove: (_: string) => {} })

  useEffect(() => {
    const abort = new AbortController()
    const rows = new Map<string, T>()
    let cursors: Cursor[] = [{ token: undefined, after: null }]
    let loaded = 0 // pages that were loaded once
    let changes = 0 // rows that an action has put or removed
    let turn = 0
    let timer = 0
    let chain: Promise<void> = Promise.resolve()
    setShown({ rows: [], more: false, error: null, loading: true })

    const show = (error: unknown): void => {
      const sorted = [...rows.values()].sort((a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0))
      setShown({ rows: sorted, more: cursors.length > loaded, error, loading: false })
    }
    const take = (index: number, cursor: Cursor, page: PageOf<T>): void => {
      const last = page.rows[page.rows.length - 1]
      const answered = new Set(page.rows.map(row => row.id))
      for (const id of [...rows.keys()]) {
        const above = cursor.after === null || id < cursor.after
        // An empty page can have a next page, whose rows must stay.
        const below = page.next === undefined || (last !== undefined && id >= last.id)
        if (above && below && !answered.has(id)) rows.delete(id)
      }
      for (const row of page.rows) rows.set(row.id, row)
      loaded = Math.max(loaded, index + 1)
      if (page.next === undefined) {
        cursors = cursors.slice(0, index + 1)
        loaded = index + 1
      } else {
        // New rows push the others down: the next page begins where this one ends by now.
        cursors[index + 1] = { token: page.next, after: last ? last.id : cursor.after }
      }
    }
    const look = (index: number): Promise<void> => {
      chain = chain.then(async () => {
        await whenSignedIn()
        const cursor = cursors[index]
        if (!cursor || abort.signal.aborted) return
        try {
          let page: PageOf<T>
          let before: number
          // A page that was asked for before an action may lack its change.
          do {
            before = changes
            page = await latest.current(cursor.token, abort.signal)
            if (abort.signal.aborted) return
          } while (before !== changes)
          take(index, cursor, page)
          show(null)
        } catch (error) {
          if (abort.signal.aborted || isAbort(error)) return
          if (signedOut.value === 'no') show(triedAgain(error))
          else void look(index)
        }
      })
      return chain
    }
    const schedule = (): void => {
      timer = window.setTimeout(() => {
        if (document.hidden) {
          schedule()
          return
        }
        turn++
        const index = loaded > 1 && turn % 2 === 0 ? 1 + ((turn / 2) % (loaded - 1)) : 0
        void look(index).then(() => {
          if (!abort.signal.aborted) schedule()
        })
      }, everyMs)
    }
    calls.current = {
      more: () => {
        if (cursors.length > loaded) void look(loaded)
      },
      refresh: () => void look(0),
      put: row => {
        changes++
        rows.set(row.id, row)
        show(null)
      },
      remove: id => {
        changes++
        rows.delete(id)
        show(null)
      },
    }
    void look(0).then(() => {
      if (!abort.signal.aborted) schedule()
    })
    return () => {
      abort.abort()
      window.clearTimeout(timer)
    }
  }, dependencies)

  return {
    ...shown,
    loadMore: useCallback(() => calls.current.more(), []),
    refresh: useCallback(() => calls.current.refresh(), []),
    put: useCallback((row: T) => calls.current.put(row), []),
    remove: useCallback((id: string) => calls.current.remove(id), []),
  }
}

/** A list of the chosen team's own things. load asks for one page with these members of the query. */
export function useTeamList<T extends Row>(
  load: (query: { team: string; limit: number; next_token?: string }, signal: AbortSignal) => Promise<PageOf<T>>,
): Listed<T> {
  const team = useTeam().slug
  return useList((token, signal) => load({ team, limit: 100, ...(token ? { next_token: token } : {}) }, signal), 8000, [team])
}
