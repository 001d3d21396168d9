// SPDX-License-Identifier: GPL-2.0-or-later

/** A refusal, in the words of the service. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly field: string | null = null,
    readonly requestId: string | null = null,
    readonly retryAfterS: number | null = null,
  ) {
    super(message)
  }
}

/** No answer came at all. */
export class UnreachableError extends Error {
  constructor(readonly isTriedAgain = false) {
    super(`The service cannot be reached. Check the connection${isTriedAgain ? '; the page tries again by itself' : ''}.`)
  }
}

/** The same failure of a load that is repeated until it succeeds. */
export const triedAgain = (error: unknown): unknown =>
  error instanceof UnreachableError ? new UnreachableError(true) : error

/** First letter upper case, full stop at the end: the API's sentences have neither. */
export function sentence(text: string): string {
  const trimmed = text.trim()
  if (trimmed === '') return ''
  const begun = trimmed.charAt(0).toUpperCase() + trimmed.slice(1)
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`
}

export function messageOf(error: unknown): string {
  if (error instanceof Error) return sentence(error.message)
  return sentence(String(error))
}

/** Which member of a request a refusal speaks of: "/allow_out/2" → "allow_out". */
export function fieldOf(pointer: string | null | undefined): string {
  return (pointer ?? '').replace(/^\//, '').split('/')[0] ?? ''
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

/** The refusal that an answer holds, whatever wrote it: the service, the agent or a proxy. */
export async function refusalOf(response: Response): Promise<ApiError> {
  let document: Record<string, unknown> = {}
  try {
    const parsed: unknown = await response.json()
    if (typeof parsed === 'object' && parsed !== null) document = parsed as Record<string, unknown>
  } catch {
    // Not JSON: the status has to do.
  }
  const text = (name: string): string | null => (typeof document[name] === 'string' ? (document[name] as string) : null)
  const after = Number(response.headers.get('Retry-After') ?? NaN)
  return new ApiError(
    response.status,
    text('error') ?? text('code') ?? `http_${response.status}`,
    text('message') ?? `The service answered with status ${response.status}`,
    text('field'),
    text('request_id') ?? response.headers.get('X-Request-Id'),
    Number.isFinite(after) ? after : null,
  )
}
