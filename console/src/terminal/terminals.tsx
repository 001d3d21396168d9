// SPDX-License-Identifier: GPL-2.0-or-later
// The terminals of a sandbox, side by side as tabs. They go on while other tabs are looked at, and
// those that another page has left running are found again.
import '@xterm/xterm/css/xterm.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import { whenSignedIn } from '../lib/client'
import { rpc } from '../lib/dataplane'
import { triedAgain } from '../lib/errors'
import { useStore } from '../lib/store'
import { shownTheme } from '../lib/theme'
import type { TabProps } from '../pages/sandbox'
import { Button, Problem, State } from '../parts/basic'
import { Resume } from '../sandbox/resume'
import { TAG, TerminalSession, type Status } from './session'

interface Found {
  processes?: { pid: number; tag?: string }[]
}

const LOOK_AGAIN_MS = 3000

const WORDS: Record<Status, string> = { starting: 'starting', open: 'open', waiting: 'connecting again', ended: 'ended' }
const TONE: Record<Status, string> = { starting: 'creating', open: 'ready', waiting: 'restoring', ended: 'stopped' }

function Screen(props: { session: TerminalSession; shown: boolean; name: string; onLeave: () => void }) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (element.current) props.session.open(element.current, props.onLeave)
  }, [props.session])
  useEffect(() => {
    if (!props.shown) return
    props.session.fit()
    props.session.focus()
  }, [props.shown])
  return <div class="screen" ref={element} hidden={!props.shown} role="group" aria-label={props.name} />
}

function TerminalTab(props: { session: TerminalSession; number: number; current: boolean; onShow: () => void; onClose: () => void }) {
  const status = useStore(props.session.status)
  const title = useStore(props.session.title)
  return (
    <li class={props.current ? 'terminal-tab current' : 'terminal-tab'}>
      <button type="button" class="plain-button" aria-pressed={props.current} onClick={props.onShow} title={title}>
        Terminal {props.number} <State value={TONE[status]} word={WORDS[status]} />
      </button>
      <button type="button" class="plain-button" aria-label={`Close terminal ${props.number}`} onClick={props.onClose}>
        ×
      </button>
    </li>
  )
}

function freeTag(sessions: TerminalSession[]): string {
  const taken = new Set(sessions.map(session => session.tag))
  let number = 1
  while (taken.has(TAG + number)) number++
  return TAG + number
}

const numberOf = (session: TerminalSession): number => Number(session.tag.slice(TAG.length))

export function Terminals(props: TabProps) {
  const { sandbox } = props
  const [sessions, setSessions] = useState<TerminalSession[]>([])
  const [current, setCurrent] = useState<TerminalSession | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [looked, setLooked] = useState(false)
  const list = useRef<HTMLUListElement>(null)
  const all = useRef<TerminalSession[]>([])
  all.current = sessions
  const drawn = useStore(shownTheme)
  const running = sandbox.state === 'ready'

  const add = (pid: number | null, tag: string): void => {
    const session = new TerminalSession(sandbox.id, tag, pid)
    all.current = [...all.current, session]
    setSessions(all.current)
    setCurrent(session)
  }
  const close = (session: TerminalSession): void => {
    session.close(true)
    all.current = all.current.filter(other => other !== session)
    setSessions(all.current)
    setCurrent(before => (before === session ? (all.current[all.current.length - 1] ?? null) : before))
  }
  useEffect(() => {
    if (!running || looked) return
    const abort = new AbortController()
    let timer = 0
    const look = async (): Promise<void> => {
      await whenSignedIn()
      try {
        const { processes = [] } = await rpc<Found>(sandbox.id, 'process.Process/List', {}, abort.signal)
        for (const { pid, tag = '' } of processes)
          if (/^console-terminal-\d+$/.test(tag) && !all.current.some(session => session.tag === tag)) add(pid, tag)
        if (all.current.length === 0) add(null, TAG + '1')
        setError(null)
        setLooked(true)
      } catch (failure) {
        if (abort.signal.aborted) return
        setError(triedAgain(failure))
        timer = window.setTimeout(() => void look(), LOOK_AGAIN_MS)
      }
    }
    void look()
    return () => {
      abort.abort()
      window.clearTimeout(timer)
    }
  }, [running, looked])
  useEffect(() => {
    if (running) for (const session of all.current) session.wake()
  }, [running])
  useEffect(() => {
    for (const session of all.current) session.retheme()
  }, [drawn])
  useEffect(
    () => () => {
      for (const session of all.current) session.close(false)
    },
    [],
  )
  return (
    <section class="terminals" aria-label="Terminals">
      <div class="terminal-bar">
        <ul ref={list}>
          {sessions.map(session => (
            <TerminalTab
              key={session.tag}
              session={session}
              number={numberOf(session)}
              current={session === current}
              onShow={() => {
                setCurrent(session)
                session.focus()
              }}
              onClose={() => close(session)}
            />
          ))}
        </ul>
        <Button small icon="plus" disabled={!running} onClick={() => add(null, freeTag(all.current))}>
          New terminal
        </Button>
      </div>
      <Problem error={error} />
      {sessions.map(session => (
        <Screen
          key={session.tag}
          session={session}
          shown={props.shown && session === current}
          name={`Terminal ${numberOf(session)}`}
          onLeave={() => list.current?.querySelector<HTMLButtonElement>('.current button')?.focus()}
        />
      ))}
      {!running && (
        <Resume
          sandbox={sandbox}
          words={sessions.length === 0 ? 'Resume it to open a terminal.' : 'Its terminals then connect again.'}
        />
      )}
      <p class="hint">F6 leaves the terminal. Select to copy with Ctrl+C; Ctrl+V pastes.</p>
    </section>
  )
}
