// SPDX-License-Identifier: GPL-2.0-or-later
// A Sandbox object of the unmodified npm package, connected to a sandbox of ours.
//
// Two of the package's own options do it: apiUrl names a shim in this process that answers its one
// call to the control plane, "connect", from POST /v1/sandboxes/:id/connect; sandboxUrl names the
// sandbox's data plane. Everything else goes from the package through nginx and the gate to the
// agent.

import http from 'node:http'
import './local_names.mjs'

const { Sandbox } = await import(process.env.CLIENT)
const { API_URL, API_KEY, SANDBOX_ID } = process.env

async function connectAtOurs() {
  const response = await fetch(`${API_URL}/v1/sandboxes/${SANDBOX_ID}/connect`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${API_KEY}` },
  })
  if (!response.ok) throw new Error(`connect: ${response.status} ${await response.text()}`)
  return (await response.json()).session
}

async function answer(request, response) {
  request.resume()
  const session = await connectAtOurs()
  const ok = request.method === 'POST' && /^(\/v2)?\/sandboxes\/\w+\/connect$/.test(request.url)
  response.writeHead(ok ? 200 : 404, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(ok
    ? { sandboxID: 'ours', envdVersion: '0.6.13', envdAccessToken: session.access_token }
    : { code: 404, message: 'the shim only connects' }))
}

export async function connect() {
  const shim = http.createServer((request, response) => {
    answer(request, response).catch((error) => response.destroy(error))
  })
  await new Promise((resolve) => shim.listen(0, '127.0.0.1', resolve))
  try {
    return await Sandbox.connect('ours', {
      apiUrl: `http://127.0.0.1:${shim.address().port}`,
      apiKey: 'e2b_0000',
      sandboxUrl: (await connectAtOurs()).data_plane_url,
    })
  } finally {
    shim.close()
    shim.closeAllConnections()
  }
}
