// SPDX-License-Identifier: GPL-2.0-or-later
import { me } from '../lib/session'

/** A word of a shell's line, whatever is in it. */
export function quoted(text: string): string {
  return `'${text.replace(/'/g, `'\\''`)}'`
}

/** The address that programs call; it may have nothing in common with the console's own. */
export function apiOrigin(): string {
  return (me.value?.base_url ?? location.origin).replace(/\/$/, '')
}

export function curlOf(method: string, path: string, body: object): string {
  return [
    `curl -X ${method} ${quoted(apiOrigin() + path)} \\`,
    `  -H "Authorization: Bearer $SANDLOT_KEY" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${quoted(JSON.stringify(body, null, 2))}`,
  ].join('\n')
}
