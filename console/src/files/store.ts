// SPDX-License-Identifier: GPL-2.0-or-later
// Where files are: in a sandbox, behind its data plane, or in a volume, behind the interface.
import { api, send, type Schemas } from '../lib/client'
import { accessTo, dataFetch, follow, fromBase64, rpc, rpcStream, signedLink, type UploadTarget } from '../lib/dataplane'

export interface Entry {
  name: string
  path: string
  type: 'file' | 'directory' | 'symlink' | 'other'
  size: number
  mode: string
  modified: string | null
  target: string | null
  /** The name is no text: it can be looked at and nothing else. */
  raw: boolean
}

export interface FileStore {
  /** What names this place, for what is kept about it. */
  id: string
  home: string
  list(path: string, signal: AbortSignal): Promise<Entry[]>
  read(path: string, signal: AbortSignal): Promise<Blob>
  /** Starts the browser's download of a file. */
  download(entry: Entry): Promise<void>
  /** Packs a directory into an archive and starts its download; missing where directories are not packed. */
  downloadDirectory?(entry: Entry, signal: AbortSignal): Promise<void>
  uploadTo(path: string): Promise<UploadTarget>
  write(path: string, text: string): Promise<void>
  makeDirectory(path: string): Promise<void>
  move(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
}

export function joined(directory: string, name: string): string {
  return directory.endsWith('/') ? directory + name : `${directory}/${name}`
}

export function parentOf(path: string): string {
  const at = path.lastIndexOf('/')
  return at <= 0 ? '/' : path.slice(0, at)
}

/** Directories first, then by name as people sort them. */
function sorted(entries: Entry[]): Entry[] {
  const rank = (entry: Entry): number => (entry.type === 'directory' ? 0 : 1)
  return entries.sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, undefined, { numeric: true }))
}

const BYTES = 'application/octet-stream'

// --- a sandbox ---

interface AgentEntry {
  name: string
  path: string
  type?: string
  size?: string | number
  permissions?: string
  modifiedTime?: string
  symlinkTarget?: string
}

function ofAgent(entry: AgentEntry): Entry {
  const kinds: Record<string, Entry['type']> = { FILE_TYPE_FILE: 'file', FILE_TYPE_DIRECTORY: 'directory' }
  return {
    name: entry.name,
    path: entry.path,
    type: kinds[entry.type ?? ''] ?? (entry.symlinkTarget ? 'symlink' : 'other'),
    size: Number(entry.size ?? 0),
    mode: entry.permissions ?? '',
    modified: entry.modifiedTime ?? null,
    target: entry.symlinkTarget ?? null,
    raw: false,
  }
}

/**
 * Packs the directory $2 of $1, writes the archive's path, and removes the archive after an hour. With
 * the status 1, GNU tar says that a file changed meanwhile, and others that they failed.
 */
const PACK = `
folder=$(mktemp -d) || exit
trap 'rm -r "$folder"; exit 143' TERM
file=$folder/\${2#/}.tar.gz
tar -C "$1" -czf "$file" -- "./$2"
status=$?
case $status$(tar --version 2>&1) in
0* | 1*GNU*) ;;
*) rm -r "$folder"; exit $status ;;
esac
(sleep 3600; rm -r "$folder") >/dev/null 2>&1 &
printf %s "$file"
`

interface ProcessEvent {
  start?: { pid?: number }
  data?: { stdout?: string; stderr?: string }
  end?: { exitCode?: number; status?: string }
}

/** A program that is stopped before its start is known has this time to start. */
const START_MS = 5000

/** Runs a program, and returns its output when it has ended. The signal ends the program. */
async function output(sandbox: string, cmd: string, args: string[], signal: AbortSignal): Promise<string> {
  const written = { out: '', err: '' }
  const text = (bytes: string | undefined): string => new TextDecoder().decode(fromBase64(bytes ?? ''))
  let pid: number | undefined
  let end: ProcessEvent['end']
  const stream = new AbortController()
  const stop = (): void => {
    if (!signal.aborted) return
    if (pid !== undefined) stream.abort()
    else setTimeout(() => stream.abort(), START_MS)
  }
  const take = (message: Record<string, unknown>): void => {
    const event = (message['event'] ?? {}) as ProcessEvent
    if (pid === undefined && (pid = event.start?.pid) !== undefined) stop()
    written.out += text(event.data?.stdout)
    written.err += text(event.data?.stderr)
    end ??= event.end
  }
  signal.addEventListener('abort', stop)
  try {
    await rpcStream(sandbox, 'process.Process/Start', { process: { cmd, args } }, take, stream.signal)
  } catch (error) {
    if (signal.aborted && pid !== undefined)
      await rpc(sandbox, 'process.Process/SendSignal', { process: { pid }, signal: 'SIGNAL_SIGTERM' }).catch(() => undefined)
    throw error
  }
  if (end?.exitCode) throw new Error(written.err.trim().slice(-300) || `The program ended with ${end.status ?? end.exitCode}`)
  return written.out
}

export function sandboxFiles(sandbox: string): FileStore {
  const call = <T>(method: string, message: object, signal?: AbortSignal): Promise<T> =>
    rpc<T>(sandbox, `filesystem.Filesystem/${method}`, message, signal)
  /** Asks for a byte first: a refusal is said here, and the browser, following the link, would show it as a page. */
  const hand = async (path: string, signal?: AbortSignal): Promise<void> => {
    const request = { path: '/files', query: { path }, headers: { Range: 'bytes=0-0' }, ...(signal ? { signal } : {}) }
    await (await dataFetch(sandbox, request)).body?.cancel()
    follow(await signedLink(sandbox, path))
  }
  return {
    id: sandbox,
    home: '/home/user',
    async list(path, signal) {
      const answer = await call<{ entries?: AgentEntry[] }>('ListDir', { path, depth: 1 }, signal)
      return sorted((answer.entries ?? []).map(ofAgent))
    },
    async read(path, signal) {
      return (await dataFetch(sandbox, { path: '/files', query: { path }, signal })).blob()
    },
    download: entry => hand(entry.path),
    async downloadDirectory(entry, signal) {
      const archive = await output(sandbox, '/bin/sh', ['-c', PACK, 'pack', parentOf(entry.path), entry.name], signal)
      await hand(archive, signal)
    },
    async uploadTo(path) {
      const access = await accessTo(sandbox)
      return {
        method: 'POST',
        url: `${access.url}/files?${new URLSearchParams({ path }).toString()}`,
        headers: { 'X-Access-Token': access.token, 'Content-Type': BYTES },
      }
    },
    async write(path, text) {
      await dataFetch(sandbox, {
        method: 'POST',
        path: '/files',
        query: { path },
        headers: { 'Content-Type': BYTES },
        body: new Blob([text]),
      })
    },
    async makeDirectory(path) {
      await call('MakeDir', { path })
    },
    async move(source, destination) {
      await call('Move', { source, destination })
    },
    async remove(path) {
      await call('Remove', { path })
    },
  }
}

// --- a volume ---

type VolumeEntry = Schemas['VolumeDirectory']['entries'][number]

function ofVolume(directory: string, entry: VolumeEntry): Entry {
  const type = entry.type === 'file' || entry.type === 'directory' || entry.type === 'symlink' ? entry.type : 'other'
  return {
    name: entry.name,
    path: joined(directory, entry.name),
    type,
    size: entry.size,
    mode: entry.mode,
    modified: entry.modified_at,
    target: entry.target ?? null,
    raw: entry.name_b64 !== undefined,
  }
}

export function volumeFiles(volume: string): FileStore {
  const path = { id: volume }
  const files = `/v1/volumes/${encodeURIComponent(volume)}/files`
  return {
    id: volume,
    home: '/',
    async list(directory, signal) {
      const entries: Entry[] = []
      let token: string | undefined
      do {
        const answer: Schemas['VolumeDirectory'] = await api.get('/v1/volumes/{id}/directories', {
          path,
          query: { path: directory, ...(token ? { next_token: token } : {}) },
          signal,
        })
        entries.push(...answer.entries.map(entry => ofVolume(directory, entry)))
        token = answer.next_token
      } while (token !== undefined && entries.length < 5000)
      return sorted(entries)
    },
    async read(file, signal) {
      return (await send({ method: 'GET', path: files, query: { path: file }, headers: { Accept: BYTES }, signal })).blob()
    },
    async download(entry) {
      const query = { path: entry.path, download: '1' }
      // A refusal is said here: the browser, following the address, would say it as a page.
      await (await send({ method: 'GET', path: files, query })).body?.cancel()
      follow(`${files}?${new URLSearchParams(query).toString()}`, entry.name)
    },
    async uploadTo(file) {
      return {
        method: 'PUT',
        url: `${files}?${new URLSearchParams({ path: file }).toString()}`,
        headers: { 'Sandlot-Console': '1', 'Content-Type': BYTES },
      }
    },
    async write(file, text) {
      await send({
        method: 'PUT',
        path: files,
        query: { path: file },
        headers: { 'Content-Type': BYTES },
        body: new Blob([text]),
      })
    },
    async makeDirectory(directory) {
      await api.put('/v1/volumes/{id}/directories', { path, body: { path: directory } })
    },
    async move(from, to) {
      await api.post('/v1/volumes/{id}/path', { path, body: { from, to } })
    },
    async remove(file) {
      await api.delete('/v1/volumes/{id}/path', { path, query: { path: file, recursive: 'true' } })
    },
  }
}
