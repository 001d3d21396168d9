// SPDX-License-Identifier: GPL-2.0-or-later
// Uploads one after the other, each with how far it is.
import { useEffect, useRef, useState } from 'preact/hooks'
import { upload } from '../lib/dataplane'
import { isAbort, messageOf } from '../lib/errors'
import { formatBytes, formatNumber, plural } from '../lib/format'
import { Button } from '../parts/basic'
import { say } from '../parts/dialog'
import type { Picked } from './folders'
import { joined, type FileStore } from './store'

export interface Upload {
  key: number
  file: File
  /** The path below the directory. */
  path: string
  directory: string
  sent: number
  state: 'running' | 'failed' | 'done' | 'waiting'
  error: string
  abort: AbortController
}

const DONE_STAYS_MS = 4000
const RELOAD_MS = 1000
const SHOWN = 20
let lastKey = 0

export interface Uploads {
  all: Upload[]
  add: (files: Picked['files'], directory: string) => void
  stop: (some: Upload[]) => void
  retry: (some: Upload[]) => void
}

export function useUploads(store: FileStore, onDone: () => void): Uploads {
  const [all, setAll] = useState<Upload[]>([])
  const queue = useRef<Upload[]>([])
  const running = useRef<Upload | null>(null)
  const done = useRef(onDone)
  done.current = onDone

  const change = (one: Upload, part: Partial<Upload>): void => {
    Object.assign(one, part)
    setAll(before => before.map(other => (other.key === one.key ? { ...one } : other)))
  }
  const forget = (some: Upload[]): void => {
    const keys = new Set(some.map(one => one.key))
    setAll(before => before.filter(other => !keys.has(other.key)))
  }

  const work = async (): Promise<void> => {
    if (running.current) return
    let reloaded = Date.now()
    let isOld = false // what the page shows of the directories
    for (let one = queue.current.shift(); one; one = queue.current.shift()) {
      const current = one
      if (current.abort.signal.aborted) continue
      running.current = current
      change(current, { state: 'running' })
      try {
        const target = await store.uploadTo(joined(current.directory, current.path))
        await upload(target, current.file, sent => change(current, { sent }), current.abort.signal)
        change(current, { state: 'done', sent: current.file.size })
        window.setTimeout(() => forget([current]), DONE_STAYS_MS)
      } catch (error) {
        if (isAbort(error)) forget([current])
        else change(current, { state: 'failed', error: messageOf(error) })
      }
      isOld = true
      if (Date.now() - reloaded < RELOAD_MS) continue
      done.current()
      reloaded = Date.now()
      isOld = false
    }
    running.current = null
    if (isOld) done.current()
  }
  const start = (some: Upload[]): void => {
    queue.current.push(...some)
    void work()
  }
  useEffect(
    () => () => {
      done.current = () => undefined
      // The user could not see how an upload ends after its page is closed.
      for (const one of queue.current) one.abort.abort()
      if (running.current) say(`The upload of ${running.current.path} was stopped, because its page was closed.`, true)
      running.current?.abort.abort()
      queue.current = []
    },
    [],
  )
  return {
    all,
    add: (files, directory) => {
      const made = files.map<Upload>(one => ({
        ...one,
        key: ++lastKey,
        directory,
        sent: 0,
        state: 'waiting',
        error: '',
        abort: new AbortController(),
      }))
      setAll(before => [...before, ...made])
      start(made)
    },
    stop: some => {
      for (const one of some) one.abort.abort()
      forget(some)
    },
    retry: some => {
      for (const one of some) change(one, { state: 'waiting', sent: 0 })
      start(some)
    },
  }
}

function UploadRow(props: { one: Upload; onStop: () => void; onRetry: () => void }) {
  const { one } = props
  const isFailed = one.state === 'failed'
  return (
    <li class={`upload ${one.state}`}>
      <span class="name">{one.path}</span>
      {isFailed ? (
        <span class="field-error">{one.error}</span>
      ) : (
        <progress aria-label={`Upload of ${one.path}`} max={Math.max(1, one.file.size)} value={one.file.size === 0 && one.state === 'done' ? 1 : one.sent} />
      )}
      <span class="number">
        {one.state === 'done' ? 'done' : `${formatBytes(one.sent)} of ${formatBytes(one.file.size)}`}
      </span>
      {one.state !== 'done' && (
        <span class="actions">
          {isFailed && (
            <Button small label={`Upload ${one.path} again`} onClick={props.onRetry}>
              Try again
            </Button>
          )}
          <Button small label={`${isFailed ? 'Dismiss' : 'Stop'} the upload of ${one.path}`} onClick={props.onStop}>
            ×
          </Button>
        </span>
      )}
    </li>
  )
}

const RANK: Record<Upload['state'], number> = { running: 0, failed: 1, waiting: 2, done: 3 }

export function UploadList(props: { uploads: Uploads }) {
  const { all, stop, retry } = props.uploads
  if (all.length === 0) return null
  const shown = all.length > SHOWN ? [...all].sort((a, b) => RANK[a.state] - RANK[b.state]).slice(0, SHOWN) : all
  const [failed, open] = [all.filter(one => one.state === 'failed'), all.filter(one => one.state !== 'done')]
  return (
    <>
      <ul class="uploads" aria-label="Uploads">
        {shown.map(one => (
          <UploadRow key={one.key} one={one} onStop={() => stop([one])} onRetry={() => retry([one])} />
        ))}
      </ul>
      {all.length > SHOWN && (
        <p class="actions before-table">
          {plural(all.length, 'upload')}; the list shows {formatNumber(shown.length)}.
          {failed.length > 0 && (
            <Button small onClick={() => retry(failed)}>
              Try {formatNumber(failed.length)} again
            </Button>
          )}
          {open.length > 0 && (
            <Button small onClick={() => stop(open)}>
              Stop all
            </Button>
          )}
        </p>
      )}
    </>
  )
}
