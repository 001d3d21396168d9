// SPDX-License-Identifier: GPL-2.0-or-later

/** A word of a shell's line, whatever is in it. */
export function quoted(text: string): string {
  return `'${text.replace(/'/g, `'\\''`)}'`
}

/** The host that programs call: the console's own name with "api" in place of its first part. */
export function apiOrigin(): string {
  return location.origin.replace(/^(https?:\/\/)console\./, '$1api.')
}

export function curlOf(method: string, path: string, body: object): string {
  return [
    `curl -X ${method} ${quoted(apiOrigin() + path)} \\`,
    `  -H "Authorization: Bearer $SANDLOT_KEY" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${quoted(JSON.stringify(body, null, 2))}`,
  ].join('\n')
}
