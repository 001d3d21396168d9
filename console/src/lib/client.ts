// SPDX-License-Identifier: GPL-2.0-or-later
// The interface, typed by its own description (schema.d.ts is made from conf/openapi.json, a product of the build).
import { ApiError, UnreachableError, isAbort, refusalOf } from './errors'
import type { components, paths } from './schema'
import { Store } from './store'

export type Schemas = components['schemas']

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
type PathWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [K in M]: object } ? P : never
}[keyof paths]
type Operation<P extends keyof paths, M extends Method> = paths[P] extends { [K in M]: infer O } ? O : never

type PathOf<O> = O extends { parameters: { path: infer X extends object } } ? { path: X } : { path?: never }
type QueryOf<O> = O extends { parameters: { query?: infer X } } ? { query?: X } : { query?: never }
type BodyOf<O> = O extends { requestBody: { content: { 'application/json': infer X } } }
  ? { body: X }
  : O extends { requestBody?: { content: { 'application/json': infer X } } }
    ? { body?: X }
    : { body?: never }
type JsonOf<R> = R extends { content: { 'application/json': infer X } } ? X : undefined
type AnswerOf<O> = O extends { responses: infer R }
  ? R extends { 201: infer A }
    ? JsonOf<A>
    : R extends { 200: infer A }
      ? JsonOf<A>
      : R extends { 202: infer A }
        ? JsonOf<A>
        : undefined
  : never

interface Common {
  signal?: AbortSignal
  /** Kept by who tries again, so that a repeated call makes one thing. */
  idempotencyKey?: string
  /** A record as it was read: the change is refused if somebody has changed the record since. */
  ifMatch?: object
  /** The change is refused if the record exists. */
  isNew?: boolean
}
export type Options<O> = PathOf<O> & QueryOf<O> & BodyOf<O> & Common
type Arguments<O> = Partial<Options<O>> extends Options<O> ? [Options<O>?] : [Options<O>]

/** How the signed-in state ends for this page: by the user, or because the session is over. */
export const signedOut = new Store<'no' | 'left' | 'ended'>('no')

/** Resolves as soon as the user is signed in; pages stay open while the user signs in again. */
export function whenSignedIn(): Promise<void> {
  if (signedOut.value === 'no') return Promise.resolve()
  return new Promise(resolve => {
    const leave = signedOut.follow(state => {
      if (state !== 'no') return
      leave()
      resolve()
    })
  })
}

/** The ETags of the records that were read. */
const etags = new WeakMap<object, string>()

export const hasEtag = (record: object): boolean => etags.has(record)

function flatten(prefix: string, value: unknown, into: URLSearchParams): void {
  if (value === undefined || value === null || value === '') return
  if (Array.isArray(value)) for (const item of value) into.append(prefix, String(item))
  else if (typeof value === 'object')
    for (const [key, item] of Object.entries(value)) flatten(`${prefix}[${key}]`, item, into)
  else into.append(prefix, String(value))
}

/** A query as the interface reads it: members of objects in brackets, nothing for what is not there. */
export function queryString(query: object | undefined): string {
  const parameters = new URLSearchParams()
  for (const [key, value] of Object.entries(query ?? {})) flatten(key, value, parameters)
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}

export interface RawRequest {
  method: string
  path: string
  query?: object | undefined
  json?: unknown
  body?: BodyInit | undefined
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
}

/** One request with the session's cookie; a refusal is thrown as ApiError. */
export async function send(request: RawRequest): Promise<Response> {
  const headers: Record<string, string> = { 'Sandlot-Console': '1', ...request.headers }
  if (request.json !== undefined) headers['Content-Type'] = 'application/json'
  let response: Response
  try {
    response = await fetch(request.path + queryString(request.query), {
      method: request.method,
      headers,
      body: request.json === undefined ? (request.body ?? null) : JSON.stringify(request.json),
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      signal: request.signal ?? null,
    })
  } catch (error) {
    if (isAbort(error)) throw error
    throw new UnreachableError()
  }
  if (response.ok) return response
  const refusal = await refusalOf(response)
  if (refusal.status === 401 && refusal.code === 'unauthorized' && signedOut.value === 'no') signedOut.set('ended')
  throw refusal
}

async function call(method: Method, template: string, options: Common & Record<string, unknown>): Promise<unknown> {
  const parts = (options['path'] ?? {}) as Record<string, string | number>
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(parts[name])))
  const read = options.ifMatch && etags.get(options.ifMatch)
  const response = await send({
    method: method.toUpperCase(),
    path,
    query: options['query'] as object | undefined,
    json: options['body'],
    headers: {
      ...(options.idempotencyKey ? { 'Idempotency-Key': options.idempotencyKey } : {}),
      ...(read ? { 'If-Match': read } : {}),
      ...(options.isNew ? { 'If-None-Match': '*' } : {}),
    },
    signal: options.signal,
  })
  if (response.status === 204) return undefined
  const answer: unknown = await response.json()
  const etag = response.headers.get('ETag')
  if (etag && typeof answer === 'object' && answer !== null) etags.set(answer, etag)
  return answer
}

function caller<M extends Method>(method: M) {
  return <P extends PathWith<M>>(
    path: P,
    ...[options]: Arguments<Operation<P, M>>
  ): Promise<AnswerOf<Operation<P, M>>> =>
    call(method, path, (options ?? {}) as Common & Record<string, unknown>) as Promise<AnswerOf<Operation<P, M>>>
}

export const api = {
  get: caller('get'),
  post: caller('post'),
  put: caller('put'),
  patch: caller('patch'),
  delete: caller('delete'),
}

export { ApiError }
