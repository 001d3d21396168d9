// SPDX-License-Identifier: GPL-2.0-or-later
// Uploads one after the other, each with how far it is.
import { useEffect, useRef, useState } from 'preact/hooks'
import { upload } from '../lib/dataplane'
import { isAbort, messageOf } from '../lib/errors'
import { formatBytes } from '../lib/format'
import { Button } from '../parts/basic'
import { say } from '../parts/dialog'
import { joined, type FileStore } from './store'

export interface Upload {
  key: number
  file: File
  directory: string
  sent: number
  state: 'waiting' | 'running' | 'done' | 'failed' | 'stopped'
  error: string
  abort: AbortController
}

const DONE_STAYS_MS = 4000
let lastKey = 0

export interface Uploads {
  all: Upload[]
  add: (files: File[], directory: string) => void
  stop: (one: Upload) => void
}

export function useUploads(store: FileStore, onDone: (directory: string) => void): Uploads {
  const [all, setAll] = useState<Upload[]>([])
  const queue = useRef<Upload[]>([])
  const running = useRef<Upload | null>(null)
  const done = useRef(onDone)
  done.current = onDone

  const change = (one: Upload, part: Partial<Upload>): void => {
    Object.assign(one, part)
    setAll(before => before.map(other => (other.key === one.key ? { ...one } : other)))
  }
  const forget = (one: Upload): void => setAll(before => before.filter(other => other.key !== one.key))

  const work = async (): Promise<void> => {
    if (running.current) return
    for (let one = queue.current.shift(); one; one = queue.current.shift()) {
      const current = one
      if (current.abort.signal.aborted) continue
      running.current = current
      change(current, { state: 'running' })
      try {
        const target = await store.uploadTo(joined(current.directory, current.file.name))
        await upload(target, current.file, sent => change(current, { sent }), current.abort.signal)
        change(current, { state: 'done', sent: current.file.size })
        window.setTimeout(() => forget(current), DONE_STAYS_MS)
        done.current(current.directory)
      } catch (error) {
        if (isAbort(error)) forget(current)
        else change(current, { state: 'failed', error: messageOf(error) })
      }
    }
    running.current = null
  }
  useEffect(
    () => () => {
      // The user could not see how an upload ends after its page is closed.
      for (const one of queue.current) one.abort.abort()
      if (running.current) say(`The upload of ${running.current.file.name} was stopped, because its page was closed.`, true)
      running.current?.abort.abort()
      queue.current = []
    },
    [],
  )
  return {
    all,
    add: (files, directory) => {
      const made = files.map<Upload>(file => ({
        key: ++lastKey,
        file,
        directory,
        sent: 0,
        state: 'waiting',
        error: '',
        abort: new AbortController(),
      }))
      setAll(before => [...before, ...made])
      queue.current.push(...made)
      void work()
    },
    stop: one => {
      one.abort.abort()
      forget(one)
    },
  }
}

function UploadRow(props: { one: Upload; onStop: () => void }) {
  const { one } = props
  return (
    <li class={`upload ${one.state}`}>
      <span class="name">{one.file.name}</span>
      {one.state === 'failed' ? (
        <span class="field-error">{one.error}</span>
      ) : (
        <progress aria-label={`Upload of ${one.file.name}`} max={Math.max(1, one.file.size)} value={one.file.size === 0 && one.state === 'done' ? 1 : one.sent} />
      )}
      <span class="number">
        {one.state === 'done' ? 'done' : `${formatBytes(one.sent)} of ${formatBytes(one.file.size)}`}
      </span>
      {one.state !== 'done' && (
        <Button small label={`${one.state === 'failed' ? 'Dismiss' : 'Stop'} the upload of ${one.file.name}`} onClick={props.onStop}>
          ×
        </Button>
      )}
    </li>
  )
}

export function UploadList(props: { uploads: Uploads }) {
  if (props.uploads.all.length === 0) return null
  return (
    <ul class="uploads" aria-label="Uploads">
      {props.uploads.all.map(one => (
        <UploadRow key={one.key} one={one} onStop={() => props.uploads.stop(one)} />
      ))}
    </ul>
  )
}
