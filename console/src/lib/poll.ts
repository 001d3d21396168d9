// SPDX-License-Identifier: GPL-2.0-or-later
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { signedOut, whenSignedIn } from './client'
import { ApiError, isAbort, triedAgain } from './errors'

export interface Polled<T> {
  data: T | undefined
  error: unknown
  /** Nothing has come yet. */
  loading: boolean
  refresh: () => void
  /** Show the answer of an action. A load that began before the action is repeated, because it may have older data. */
  put: (data: T) => void
}

const SLOWEST_MS = 30_000

/** Nobody looks at a page in the background, so it does not ask. */
function whenVisible(): Promise<void> {
  if (!document.hidden) return Promise.resolve()
  return new Promise(resolve => {
    const look = (): void => {
      if (document.hidden) return
      document.removeEventListener('visibilitychange', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
  })
}

/**
 * Loads, and again every everyMs (null: once) as long as the page is seen; what was there stays while
 * a look fails, and a service that fails is asked more and more rarely.
 */
export function usePoll<T>(
  load: (signal: AbortSignal) => Promise<T>,
  everyMs: number | null,
  dependencies: readonly unknown[],
): Polled<T> {
  const [state, setState] = useState<{ data: T | undefined; error: unknown; loading: boolean }>({
    data: undefined,
    error: null,
    loading: true,
  })
  const latest = useRef(load)
  latest.current = load
  const wake = useRef<() => void>(() => undefined)
  const rhythm = useRef(everyMs)
  rhythm.current = everyMs
  const puts = useRef(0)

  useEffect(() => {
    const abort = new AbortController()
    let timer = 0
    let failures = 0
    let running = false
    let again = false
    setState({ data: undefined, error: null, loading: true })

    const schedule = (ms: number | null): void => {
      window.clearTimeout(timer)
      if (ms !== null) timer = window.setTimeout(() => void look(), ms)
    }
    const look = async (): Promise<void> => {
      if (running) {
        again = true
        return
      }
      running = true
      await whenVisible()
      await whenSignedIn()
      let pause = rhythm.current
      const before = puts.current
      try {
        const data = await latest.current(abort.signal)
        if (abort.signal.aborted) return
        failures = 0
        if (puts.current === before) setState({ data, error: null, loading: false })
        else again = true
      } catch (error) {
        if (abort.signal.aborted || isAbort(error)) return
        if (signedOut.value !== 'no') again = true
        else {
          failures++
          setState(before => ({ data: before.data, error: triedAgain(error), loading: false }))
          const asked = error instanceof ApiError && error.retryAfterS !== null ? error.retryAfterS * 1000 : 0
          if (pause !== null || !(error instanceof ApiError))
            pause = Math.max(asked, Math.min(SLOWEST_MS, (pause ?? 2000) * 2 ** failures))
        }
      } finally {
        running = false
      }
      if (again) {
        again = false
        pause = 0
      }
      schedule(pause)
    }
    wake.current = () => {
      window.clearTimeout(timer)
      void look()
    }
    void look()
    return () => {
      abort.abort()
      window.clearTimeout(timer)
      wake.current = () => undefined
    }
  }, dependencies)

  const refresh = useCallback(() => wake.current(), [])
  const put = useCallback((data: T) => {
    puts.current++
    setState({ data, error: null, loading: false })
  }, [])
  return { ...state, refresh, put }
}

// --- a clock that all countdowns of a page share ---

const listeners = new Set<(now: number) => void>()
let clock = 0

export function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    listeners.add(setNow)
    if (listeners.size === 1)
      clock = window.setInterval(() => {
        const at = Date.now()
        for (const listener of [...listeners]) listener(at)
      }, 1000)
    return () => {
      listeners.delete(setNow)
      if (listeners.size === 0) window.clearInterval(clock)
    }
  }, [])
  return now
}
