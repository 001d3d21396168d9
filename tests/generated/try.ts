// SPDX-License-Identifier: GPL-2.0-or-later
// What the client that @hey-api/openapi-ts has made of the OpenAPI document can do, compiled strictly and
// then used: BASE_URL, API_KEY. Members with a default need not be named, and lists are filtered.

import { client } from './client/client.gen'
import { checkNetwork, createSandbox, deleteSandbox, listSandboxes, showUsage, type CreateSandbox } from './client'

declare const process: { env: Record<string, string | undefined>; pid: number; exitCode: number }

function equal(found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error(`${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`)
}

client.setConfig({ baseUrl: process.env['BASE_URL']!, auth: process.env['API_KEY']! })

async function main(): Promise<void> {
  const least: CreateSandbox = {}
  const lane = `lane-${process.pid}`
  const made = await createSandbox({ body: { ...least, metadata: { lane } }, throwOnError: true })
  const id = made.data.id
  try {
    const listed = async (value: string, states: ('ready' | 'stopped')[]) => {
      const query = { 'query[metadata]': { lane: value }, 'query[state][]': states }
      const { data } = await listSandboxes({ query, throwOnError: true })
      return data.sandboxes.map(sandbox => sandbox.id)
    }
    equal(await listed(lane, ['ready', 'stopped']), [id])
    equal(await listed(lane, ['stopped']), [])
    equal(await listed('another', ['ready']), [])
    // A part of a policy is a policy.
    const body = { host: 'example.com', port: 443, policy: { allow_out: ['example.com'] } }
    const verdict = await checkNetwork({ path: { id }, body, throwOnError: true })
    equal(verdict.data.verdict, 'allow')
    const usage = await showUsage({ query: { by: 'sandbox' }, throwOnError: true })
    equal(usage.data.parts?.some(part => part.id === id), true)
  } finally {
    await deleteSandbox({ path: { id }, throwOnError: true })
  }
}

main().catch((error: unknown) => {
  console.error(error)
  process.exitCode = 1
})
