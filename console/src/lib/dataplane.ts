// SPDX-License-Identifier: GPL-2.0-or-later
// A sandbox's own address: tokens, files, and calls of the Connect protocol over fetch.
import { api } from './client'
import { ApiError, UnreachableError, isAbort, refusalOf } from './errors'

interface Access {
  url: string
  token: string
  expiresMs: number
}

const RENEW_BEFORE_MS = 60_000

const kept = new Map<string, Promise<Access>>()

async function newAccess(sandbox: string): Promise<Access> {
  const { session } = await api.post('/v1/sandboxes/{id}/sessions', { path: { id: sandbox } })
  return {
    url: session.data_plane_url,
    token: session.access_token,
    expiresMs: session.expires_at === null ? Infinity : Date.parse(session.expires_at),
  }
}

/** Address and token of a sandbox; the token lives in this page's memory alone. */
export async function accessTo(sandbox: string): Promise<Access> {
  const found = kept.get(sandbox)
  if (found) {
    const access = await found
    if (access.expiresMs - RENEW_BEFORE_MS > Date.now()) return access
  }
  const made = newAccess(sandbox)
  kept.set(sandbox, made)
  made.catch(() => {
    if (kept.get(sandbox) === made) kept.delete(sandbox)
  })
  return made
}

/** The token of a link into a team stays here while somebody signs in, also with an identity provider. */
export const KEPT_LINK = 'sandlot-join'

/** Without a sandbox: everything of the one who was signed in, kept screens of terminals too. */
export function forgetAccess(sandbox?: string): void {
  if (sandbox !== undefined) {
    kept.delete(sandbox)
    return
  }
  kept.clear()
  const link = sessionStorage.getItem(KEPT_LINK)
  sessionStorage.clear()
  if (link) sessionStorage.setItem(KEPT_LINK, link)
}

export interface DataRequest {
  method?: string
  path: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: BodyInit
  signal?: AbortSignal
}

/** One request; a token that no longer opens is replaced once. */
export async function dataFetch(sandbox: string, request: DataRequest): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    const access = await accessTo(sandbox)
    let response: Response
    try {
      response = await fetch(access.url + request.path + queryOf(request.query), {
        method: request.method ?? 'GET',
        headers: { 'X-Access-Token': access.token, ...request.headers },
        body: request.body ?? null,
        credentials: 'omit',
        cache: 'no-store',
        referrerPolicy: 'no-referrer',
        signal: request.signal ?? null,
      })
    } catch (error) {
      if (isAbort(error)) throw error
      throw new UnreachableError()
    }
    if (response.ok) return response
    if (response.status === 401 && attempt === 0) {
      forgetAccess(sandbox)
      continue
    }
    throw await refusalOf(response)
  }
}

function queryOf(query: Record<string, string> | undefined): string {
  return query ? `?${new URLSearchParams(query).toString()}` : ''
}

// --- Connect: one answer ---

const CONNECT = { 'Connect-Protocol-Version': '1' }

export async function rpc<T>(sandbox: string, method: string, message: object, signal?: AbortSignal): Promise<T> {
  const response = await dataFetch(sandbox, {
    method: 'POST',
    path: `/${method}`,
    headers: { ...CONNECT, 'Content-Type': 'application/json' },
    body: JSON.stringify(message),
    ...(signal ? { signal } : {}),
  })
  return (await response.json()) as T
}

// --- Connect: a stream of answers ---

/** The stream ended without its last message: the connection broke, the sandbox paused or is gone. */
export class CutError extends Error {
  constructor() {
    super('The connection to the sandbox broke')
  }
}

const END_STREAM = 2
const HEAD_BYTES = 5
const MESSAGE_MAX = 16 << 20

function enveloped(message: object): Uint8Array<ArrayBuffer> {
  const body = new TextEncoder().encode(JSON.stringify(message))
  const out = new Uint8Array(HEAD_BYTES + body.length)
  new DataView(out.buffer).setUint32(1, body.length)
  out.set(body, HEAD_BYTES)
  return out
}

/** Splits what comes in pieces of any size into envelopes. */
class EnvelopeReader {
  #bytes: Uint8Array = new Uint8Array(0);

  *read(piece: Uint8Array): Generator<{ flags: number; message: Record<string, unknown> }> {
    const joined = new Uint8Array(this.#bytes.length + piece.length)
    joined.set(this.#bytes)
    joined.set(piece, this.#bytes.length)
    let at = 0
    while (joined.length - at >= HEAD_BYTES) {
      const length = new DataView(joined.buffer, at).getUint32(1)
      if (length > MESSAGE_MAX) throw new CutError()
      if (joined.length - at < HEAD_BYTES + length) break
      const text = new TextDecoder().decode(joined.subarray(at + HEAD_BYTES, at + HEAD_BYTES + length))
      yield { flags: joined[at] ?? 0, message: JSON.parse(text === '' ? '{}' : text) as Record<string, unknown> }
      at += HEAD_BYTES + length
    }
    this.#bytes = joined.slice(at)
  }
}

function throwIfRefused(message: Record<string, unknown>): void {
  const error = message['error'] as { code?: string; message?: string } | undefined
  if (error) throw new ApiError(200, error.code ?? 'unknown', error.message ?? 'The sandbox refused the call')
}

/** Calls method and hands each message on; ends when the stream does, with CutError when it broke. */
export async function rpcStream(
  sandbox: string,
  method: string,
  message: object,
  onMessage: (message: Record<string, unknown>) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await dataFetch(sandbox, {
    method: 'POST',
    path: `/${method}`,
    headers: { ...CONNECT, 'Content-Type': 'application/connect+json', 'Keepalive-Ping-Interval': '20' },
    body: enveloped(message),
    signal,
  })
  const pieces = response.body?.getReader()
  if (!pieces) throw new CutError()
  const envelopes = new EnvelopeReader()
  for (;;) {
    let piece: ReadableStreamReadResult<Uint8Array>
    try {
      piece = await pieces.read()
    } catch (error) {
      if (isAbort(error)) throw error
      throw new CutError()
    }
    if (piece.done) throw new CutError()
    for (const envelope of envelopes.read(piece.value)) {
      if (envelope.flags & END_STREAM) {
        throwIfRefused(envelope.message)
        return
      }
      onMessage(envelope.message)
    }
  }
}

// --- bytes as text ---

const CHUNK = 0x8000

export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK))
  return btoa(text)
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return bytes
}

// --- uploads, with how far they are ---

export interface UploadTarget {
  url: string
  method: string
  headers: Record<string, string>
}

/** fetch tells nothing of an upload's progress, so this is the older interface. */
export function upload(
  target: UploadTarget,
  body: Blob,
  onProgress: (sent: number) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted() // It may have been stopped while its token was asked for.
    const request = new XMLHttpRequest()
    request.open(target.method, target.url)
    for (const [name, value] of Object.entries(target.headers)) request.setRequestHeader(name, value)
    request.upload.onprogress = event => onProgress(event.loaded)
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve()
      else
        refusalOf(
          new Response(request.responseText, { status: request.status < 200 ? 500 : request.status }),
        ).then(reject, reject)
    }
    request.onerror = () => reject(new UnreachableError())
    request.onabort = () => reject(new DOMException('The upload was stopped', 'AbortError'))
    signal.addEventListener('abort', () => request.abort(), { once: true })
    request.send(body)
  })
}

/** Lets the browser download an address, with its own progress and its own button to cancel. */
export function follow(address: string, name = ''): void {
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.rel = 'noreferrer'
  link.click()
}

/** Hands bytes to the browser's own download. */
export function saveAs(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob)
  follow(address, name)
  window.setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

// --- signed links ---

const LINK_S = 3600

/** An address that downloads one file without the token, for an hour. */
export async function signedLink(sandbox: string, path: string): Promise<string> {
  const access = await accessTo(sandbox)
  const end = String(Math.floor(Date.now() / 1000) + LINK_S)
  const text = new TextEncoder().encode(`${path}:read::${access.token}:${end}`)
  const sum = toBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', text))).replace(/=+$/, '')
  const query = new URLSearchParams({ path, signature: `v1_${sum}`, signature_expiration: end, download: '1' })
  return `${access.url}/files?${query.toString()}`
}
