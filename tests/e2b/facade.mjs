// SPDX-License-Identifier: GPL-2.0-or-later
// usage: node facade.mjs life|pages|pause|network|servers|snapshots|templates|metrics|volumes|errors|quota
// The unmodified npm package and nothing beside it: E2B_DOMAIN and E2B_API_KEY say where, CLIENT which
// of the packages.

import assert from 'node:assert/strict'
import './local_names.mjs'

const { ApiClient, ConnectionConfig, Sandbox, Template, TemplateError, Volume, VolumeNotFoundError, VolumePathNotFoundError, SandboxNotFoundError, AuthenticationError, RateLimitError, NotFoundError } = await import(process.env.CLIENT)
const say = (text) => console.log(text)
const { fetch: plain } = globalThis

async function withSandbox(options, work) {
  const sandbox = await Sandbox.create({ timeoutMs: 120_000, ...options })
  try {
    await work(sandbox)
  } finally {
    await Sandbox.kill(sandbox.sandboxId)
  }
}

async function all(paginator) {
  const found = []
  while (paginator.hasNext) found.push(...(await paginator.nextItems()))
  return found
}

async function life() {
  const tag = Math.random().toString(36).slice(2)
  await withSandbox({ metadata: { tag, 'b c&d': 'é=1 %' }, envs: { GIVEN: 'here' } }, async (sandbox) => {
    assert.match(sandbox.sandboxId, /^[a-z0-9]+$/)
    assert.equal((await sandbox.commands.run('echo $GIVEN')).stdout, 'here\n')
    await sandbox.files.write('/home/user/a.txt', 'text')
    assert.equal(await sandbox.files.read('/home/user/a.txt'), 'text')
    assert.equal(await (await plain(await sandbox.downloadUrl('/home/user/a.txt'))).text(), 'text')
    say('create, command, file, signed link')

    const info = await sandbox.getInfo()
    assert.equal(info.sandboxId, sandbox.sandboxId)
    assert.equal(info.metadata['b c&d'], 'é=1 %')
    assert.equal(info.state, 'running')
    assert.ok(info.cpuCount >= 1 && info.memoryMB >= 256)
    assert.ok(info.endAt > info.startedAt)
    say('info')

    const before = (await sandbox.getInfo()).endAt.getTime()
    const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 10_000 })
    assert.equal((await again.getInfo()).endAt.getTime(), before, 'connect never shortens')
    assert.equal(await again.files.read('/home/user/a.txt'), 'text')
    await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 600_000 })
    assert.ok((await sandbox.getInfo()).endAt.getTime() > before, 'and extends')
    await sandbox.setTimeout(60_000)
    assert.ok((await sandbox.getInfo()).endAt.getTime() < before, 'setTimeout goes both ways')
    say('connect and setTimeout')

    const listed = await all(Sandbox.list({ query: { metadata: { tag, 'b c&d': 'é=1 %' } } }))
    assert.deepEqual(listed.map((one) => one.sandboxId), [sandbox.sandboxId])
    assert.deepEqual(await all(Sandbox.list({ query: { metadata: { tag: 'none' } } })), [])
    assert.deepEqual(await all(Sandbox.list({ query: { metadata: { tag }, state: ['paused'] } })), [])
    say('list with metadata and states')

    assert.ok(Array.isArray(await sandbox.getMetrics()))
    assert.equal(await sandbox.isRunning(), true)
    assert.equal(await sandbox.kill(), true)
    assert.equal(await sandbox.kill(), false)
    assert.equal(await sandbox.isRunning(), false)
    await assert.rejects(Sandbox.connect(sandbox.sandboxId), SandboxNotFoundError)
    say('kill twice')
  })
}

async function pages() {
  const tag = Math.random().toString(36).slice(2)
  const made = []
  try {
    for (let i = 0; i < 3; i++) made.push(await Sandbox.create({ timeoutMs: 120_000, metadata: { tag } }))
    const ids = (await all(Sandbox.list({ limit: 1, query: { metadata: { tag } } }))).map((one) => one.sandboxId)
    assert.deepEqual(ids.sort(), made.map((one) => one.sandboxId).sort())
  } finally {
    for (const sandbox of made) await sandbox.kill()
  }
  say('pages of one')
}

async function pause() {
  await withSandbox({ envs: { GIVEN: 'here' } }, async (sandbox) => {
    const counter = await sandbox.commands.run('i=0; while sleep 0.1; do i=$((i+1)); echo $i >/tmp/count; done', { background: true })
    const pid = counter.pid
    await new Promise((resolve) => setTimeout(resolve, 500))
    await sandbox.pause()
    assert.equal((await Sandbox.getInfo(sandbox.sandboxId)).state, 'paused')
    assert.equal(await sandbox.isRunning(), false)
    const resumed = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 60_000 })
    assert.ok((await resumed.commands.list()).some((process) => process.pid === pid), 'with its memory')
    assert.equal(await sandbox.isRunning(), true)
    assert.equal((await sandbox.commands.run('echo same token $GIVEN')).stdout, 'same token here\n')
    say('pause, resume, the first token still holds')

    await sandbox.pause({ keepMemory: false })
    const anew = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 60_000 })
    assert.ok(!(await anew.commands.list()).some((process) => process.pid === pid), 'without its memory')
    assert.equal((await anew.commands.run('echo $GIVEN')).stdout, 'here\n', 'with its environment')
    say('pause without the memory')
  })
}

async function serve(sandbox, port) {
  await sandbox.commands.run(`mkdir -p /tmp/www && echo shown >/tmp/www/index.html && cd /tmp/www && python3 -m http.server ${port}`, { background: true })
  for (const end = Date.now() + 20_000; ;) {
    const answer = await plain(`https://${sandbox.getHost(port)}/`, { headers: { 'e2b-traffic-access-token': sandbox.trafficAccessToken ?? '' } })
    if (answer.status === 200) return answer.text()
    await answer.text()
    assert.ok(Date.now() < end, `the server listens: ${answer.status}`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

async function network() {
  await withSandbox({}, async (sandbox) => {
    assert.equal(await serve(sandbox, 8123), 'shown\n')
    const reserved = await plain(`https://${sandbox.getHost(22)}/`)
    assert.notEqual(reserved.status, 200)
    const closed = await plain(`https://${sandbox.getHost(8124)}/`)
    assert.equal(closed.status, 502)
    const body = await closed.json()
    assert.deepEqual([body.code, body.port, body.sandboxId], [502, 8124, sandbox.sandboxId])
    say('any port')
    if (sandbox.updateNetwork) {
      await sandbox.updateNetwork({ allowOut: ['203.0.113.0/24'], denyOut: ['203.0.113.7', '0.0.0.0/0'] })
      const { network } = await sandbox.getInfo()
      assert.deepEqual([network.allowOut, network.denyOut], [['203.0.113.0/24'], ['0.0.0.0/0']])
      say('an allowed network wins over what is denied inside it')
    }
    await sandbox.kill()
    const gone = await plain(`https://${sandbox.getHost(8123)}/`)
    assert.equal(gone.status, 502)
    assert.equal((await gone.json()).message, 'The sandbox was not found')
  })
  await withSandbox({ network: { allowPublicTraffic: false } }, async (sandbox) => {
    assert.equal(await serve(sandbox, 8123), 'shown\n')
    for (const headers of [{}, { 'e2b-traffic-access-token': 'wrong' }]) {
      const refused = await plain(`https://${sandbox.getHost(8123)}/`, { headers })
      assert.equal(refused.status, 403)
      assert.equal((await refused.json()).code, 403)
    }
    say('the traffic token')
  })
}

async function servers() {
  await withSandbox({ network: { maskRequestHost: 'localhost:${PORT}' } }, async (sandbox) => {
    await sandbox.files.write('/tmp/host.py', `
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(''.join(f'{name}: {text}' for name, text in self.headers.items() if name.lower() == 'host').encode())
http.server.HTTPServer(('127.0.0.1', 8123), Handler).serve_forever()
`)
    await sandbox.commands.run('python3 /tmp/host.py', { background: true })
    await sandbox.commands.run('until curl -so /dev/null 127.0.0.1:8123; do sleep 0.1; done')
    assert.equal(await (await plain(`https://${sandbox.getHost(8123)}/`)).text(), 'Host: localhost:8123')
    assert.equal((await sandbox.getInfo()).network.maskRequestHost, 'localhost:${PORT}')
  })
  say('the host that servers see')

  await withSandbox({ lifecycle: { onTimeout: 'pause', autoResume: true } }, async (sandbox) => {
    await serve(sandbox, 8123)
    await sandbox.pause()
    assert.equal(await (await plain(`https://${sandbox.getHost(8123)}/`)).text(), 'shown\n')
    assert.equal((await sandbox.getInfo()).state, 'running')
    await sandbox.pause()
    assert.equal((await sandbox.commands.run('echo woken')).stdout, 'woken\n')
    assert.deepEqual((await sandbox.getInfo()).lifecycle, { onTimeout: 'pause', autoResume: true })
  })
  say('requests wake what is paused')
}

async function volumes() {
  const name = `v${Math.random().toString(36).slice(2)}`
  const volume = await Volume.create(name)
  try {
    assert.equal((await Volume.getInfo(volume.volumeId)).name, name)
    assert.ok((await Volume.list()).some((one) => one.volumeId === volume.volumeId && one.name === name))
    const written = await volume.writeFile('/a/b.txt', 'text', { mode: 0o640 })
    assert.deepEqual([written.name, written.path, written.size, written.mode, written.type], ['b.txt', '/a/b.txt', 4, 0o640, 'file'])
    assert.ok(written.mtime instanceof Date && !Number.isNaN(written.mtime.getTime()))
    assert.equal(await volume.readFile('/a/b.txt'), 'text')
    const bytes = crypto.getRandomValues(new Uint8Array(60_000))
    await volume.writeFile('/bytes', bytes.buffer)
    assert.deepEqual(await volume.readFile('/bytes', { format: 'bytes' }), bytes)
    assert.equal((await volume.makeDir('/new/deep')).type, 'directory')
    assert.deepEqual((await volume.list('/')).map((one) => one.path).sort(), ['/a', '/bytes', '/new'])
    assert.deepEqual([await volume.exists('/bytes'), await volume.exists('/none')], [true, false])
    await volume.remove('/a')
    await assert.rejects(volume.readFile('/a/b.txt'), VolumePathNotFoundError)
    const updated = await volume.updateMetadata('/bytes', { mode: 0o604, uid: 0 })
    assert.deepEqual([updated.path, updated.mode, updated.uid, updated.gid], ['/bytes', 0o604, 0, 1000])
    await assert.rejects(volume.updateMetadata('/none', { mode: 0o600 }), VolumePathNotFoundError)
    assert.equal((await volume.makeDir('/new/owned', { uid: 7, gid: 8 })).uid, 7)
    const paths = (await volume.list('/', { depth: 2 })).map((one) => one.path).sort()
    assert.deepEqual(paths, ['/bytes', '/new', '/new/deep', '/new/owned'])
    await withSandbox({ volumeMounts: { '/data': name } }, async (sandbox) => {
      assert.deepEqual(await sandbox.files.read('/data/bytes', { format: 'bytes' }), bytes)
    })
    say('volumes and their files')
  } finally {
    assert.equal(await Volume.destroy(volume.volumeId), true)
  }
  assert.equal(await Volume.destroy(volume.volumeId), false)
  await assert.rejects(Volume.connect(volume.volumeId), VolumeNotFoundError)
}

async function snapshots() {
  await withSandbox({}, async (sandbox) => {
    await sandbox.files.write('/home/user/kept', 'kept')
    const { snapshotId } = await sandbox.createSnapshot()
    const listed = await all(Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId }))
    assert.deepEqual(listed.map((one) => one.snapshotId), [snapshotId])
    await withSandbox({ template: snapshotId }, async (copy) => {
      assert.equal(await copy.files.read('/home/user/kept'), 'kept')
    })
    assert.equal(await Sandbox.deleteSnapshot(snapshotId), true)
    assert.equal(await Sandbox.deleteSnapshot(snapshotId), false)
    say('snapshots')
  })
}

// TEMPLATE: the name of one of the team TEAM, with two versions.
async function templates() {
  const { TEMPLATE: name, TEAM: team } = process.env
  assert.equal(await Template.exists(name), true)
  assert.equal(await Template.exists(`${team}/${name}`), true)
  assert.equal(await Template.exists('no-such-template'), false)
  const [newest] = await Template.getTags(name)
  assert.equal(newest.tag, 'default')
  const first = await Template.assignTags(`${name}:1`, ['production', 'v1.0'])
  assert.deepEqual(first.tags, ['production', 'v1.0'])
  assert.notEqual(first.buildId, newest.buildId)
  const tags = async () => Object.fromEntries((await Template.getTags(`${team}/${name}`)).map((one) => [one.tag, one.buildId]))
  assert.deepEqual(await tags(), { default: newest.buildId, production: first.buildId, 'v1.0': first.buildId })
  assert.ok((await Template.getTags(name)).every((one) => !Number.isNaN(one.createdAt.getTime())))
  say('names and tags')

  const memory = async (template) => {
    let found
    await withSandbox({ template }, async (sandbox) => { found = (await sandbox.getInfo()).memoryMB })
    return found
  }
  assert.equal(await memory(`${name}:production`), 256)
  assert.equal(await memory(name), 384)
  assert.equal((await Template.assignTags(`${name}:production`, 'default')).buildId, first.buildId)
  assert.equal(await memory(name), 256, 'a name alone is its tag default')
  assert.equal(await memory(`${team}/${name}`), 256)
  assert.equal(await memory(`${name}:latest`), 384)
  say('sandboxes of a tag')

  await Template.removeTags(name, ['production', 'default'])
  assert.deepEqual(await tags(), { default: newest.buildId, 'v1.0': first.buildId })
  assert.equal(await memory(name), 384)
  await assert.rejects(Template.removeTags(name, 'production'), TemplateError)
  await assert.rejects(Template.assignTags('no-such-template:default', 'x'), TemplateError)
  await assert.rejects(Sandbox.create({ template: `${name}:production` }), /404/)
  await Template.removeTags(`${team}/${name}`, 'v1.0')
  say('tags are taken away')

  const { api } = new ApiClient(new ConnectionConfig())
  const page = await api.GET('/v2/templates', { params: { query: { limit: 1 } } })
  assert.equal(page.data.length, 1)
  assert.ok(page.response.headers.get('x-next-token'))
  say('pages of templates')
}

async function metrics() {
  const { api } = new ApiClient(new ConnectionConfig())
  await withSandbox({}, async (one) => withSandbox({}, async (other) => {
    const ids = [one.sandboxId, other.sandboxId]
    for (const end = Date.now() + 90_000; ;) {
      const { data } = await api.GET('/sandboxes/metrics', { params: { query: { sandbox_ids: ids } } })
      if (ids.every((id) => data.sandboxes[id]?.memUsed > 0)) break
      assert.ok(Date.now() < end, 'each has a sample')
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }))
  say('metrics of several')
}

async function errors() {
  await assert.rejects(Sandbox.create({ apiKey: `e2b_${'0'.repeat(110)}` }), AuthenticationError)
  await assert.rejects(Sandbox.create({ template: 'no-such-template' }), /404/)
  await assert.rejects(Sandbox.create({ timeoutMs: 10 * 365 * 86_400_000 }), /400/)
  await assert.rejects(Sandbox.create({ volumeMounts: { '/data': 'no-such-volume' } }), /404/)
  assert.equal(await Sandbox.kill('a'.repeat(26)), false)
  await assert.rejects(Sandbox.getInfo('nonsense'), SandboxNotFoundError)
  say('errors as the classes of the package')
}

async function quota() {
  const made = []
  try {
    await assert.rejects(async () => {
      for (let i = 0; i < 3; i++) made.push(await Sandbox.create({ timeoutMs: 60_000 }))
    }, RateLimitError)
    assert.equal(made.length, 1)
  } finally {
    for (const sandbox of made) await sandbox.kill()
  }
  say('the quota')
}

await { life, pages, pause, network, servers, snapshots, templates, metrics, volumes, errors, quota }[process.argv[2]]()
