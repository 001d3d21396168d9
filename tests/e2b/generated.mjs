// SPDX-License-Identifier: GPL-2.0-or-later
// usage: node generated.mjs TRANSPORT
// Generated clients of the services: the descriptors that the npm package e2b carries, with the
// transports of the protocol's own libraries. BASE_URL and TOKEN say where.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { fileDesc, serviceDesc } from '@bufbuild/protobuf/codegenv2'
import { file_google_protobuf_timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import * as node from '@connectrpc/connect-node'
import * as web from '@connectrpc/connect-web'
import './local_names.mjs'

const text = new TextDecoder()
const bytes = (string) => new TextEncoder().encode(string)
const say = (what) => console.log(what)

// The package exports none of its services: they are taken from its own text.
const bundle = fs.readFileSync(createRequire(import.meta.url).resolve('e2b').replace(/\.js$/, '.mjs'), 'utf8')
const files = [...bundle.matchAll(/fileDesc\("([A-Za-z0-9+/=]+)"/g)].map(([, packed]) =>
  fileDesc(packed, [file_google_protobuf_timestamp]))
const service = (name) => serviceDesc(files.find((file) => file.proto.package === name), 0)
const Process = service('process')
const Filesystem = service('filesystem')

const baseUrl = process.env.BASE_URL
const interceptors = [(next) => (request) => {
  request.header.set('X-Access-Token', process.env.TOKEN)
  if (process.env.SECRET) request.header.set('X-Sandlot-Agent-Secret', process.env.SECRET)
  return next(request)
}]
const here = { baseUrl, interceptors, httpVersion: '1.1' }
const gzip = { sendCompression: node.compressionGzip, acceptCompression: [node.compressionGzip], compressMinBytes: 1 }
const plain = { acceptCompression: [] }
const transports = {
  json: () => node.createConnectTransport({ ...here, ...plain }),
  'json-gzip': () => node.createConnectTransport({ ...here, ...gzip }),
  binary: () => node.createConnectTransport({ ...here, ...plain, useBinaryFormat: true }),
  'binary-gzip': () => node.createConnectTransport({ ...here, ...gzip, useBinaryFormat: true }),
  'binary-http2': () => node.createConnectTransport({ ...here, useBinaryFormat: true, httpVersion: '2' }),
  'grpc-web': () => node.createGrpcWebTransport({ ...here, ...plain, useBinaryFormat: true }),
  'grpc-web-gzip': () => node.createGrpcWebTransport({ ...here, ...gzip, useBinaryFormat: true }),
  'grpc-web-json': () => node.createGrpcWebTransport({ ...here, ...plain, useBinaryFormat: false }),
  'web-binary': () => web.createConnectTransport({ ...here, useBinaryFormat: true }),
  'web-grpc-web': () => web.createGrpcWebTransport({ ...here, useBinaryFormat: true }),
  'web-grpc-web-json': () => web.createGrpcWebTransport({ ...here, useBinaryFormat: false }),
}

const [name] = process.argv.slice(2)
const transport = transports[name]()
const processes = createClient(Process, transport)
const filesystem = createClient(Filesystem, transport)
const folder = `/tmp/generated-${Math.random().toString(36).slice(2)}`

async function fails(code, work) {
  await assert.rejects(work, (error) => {
    const found = ConnectError.from(error)
    assert.equal(Code[found.code], Code[code], found.message)
    assert.ok(found.rawMessage, 'it says why')
    return true
  })
}

async function tree() {
  const made = await filesystem.makeDir({ path: `${folder}/ö` })
  assert.equal(made.entry.name, 'ö')
  assert.equal(made.entry.type, 2)
  for (let i = 0; i < 40; i++) await filesystem.makeDir({ path: `${folder}/ö/${i}` })
  const { entries } = await filesystem.listDir({ path: folder, depth: 2 })
  assert.equal(entries.length, 41)
  for (const entry of entries) {
    assert.ok(entry.path.startsWith(`${folder}/ö`) && entry.owner && entry.permissions.startsWith('d'))
    assert.ok(entry.size > 0n && entry.mode === 0o755)
    assert.ok(Math.abs(timestampDate(entry.modifiedTime) - Date.now()) < 3600_000)
  }
  const moved = await filesystem.move({ source: `${folder}/ö/1`, destination: `${folder}/ü` })
  assert.equal(moved.entry.path, `${folder}/ü`)
  const { entry } = await filesystem.stat({ path: '/proc/self/exe' })
  assert.equal(entry.permissions[0], 'L')
  assert.ok(entry.symlinkTarget.startsWith('/'))
  await filesystem.remove({ path: `${folder}/ü` })
  await fails(Code.NotFound, () => filesystem.stat({ path: `${folder}/ü` }))
  await fails(Code.AlreadyExists, () => filesystem.makeDir({ path: `${folder}/ö` }))
  await fails(Code.NotFound, () => filesystem.listDir({ path: `${folder}/none` }))
  say('directories and their errors')
}

async function changes() {
  const { watcherId } = await filesystem.createWatcher({ path: folder, recursive: true })
  const seen = []
  let ready
  const started = new Promise((resolve) => { ready = resolve })
  const stop = new AbortController()
  const watching = (async () => {
    for await (const { event } of filesystem.watchDir({ path: folder, includeEntry: true }, { signal: stop.signal })) {
      if (event.case === 'start') ready()
      if (event.case === 'filesystem') seen.push(event.value)
      if (seen.length) stop.abort()
    }
  })()
  watching.catch(() => {})
  await started
  await filesystem.makeDir({ path: `${folder}/new` })
  await fails(Code.Canceled, () => watching)
  assert.deepEqual([seen[0].name, seen[0].type, seen[0].entry?.path], ['new', 1, `${folder}/new`])
  const { events } = await filesystem.getWatcherEvents({ watcherId })
  assert.ok(events.some((event) => event.name === 'new' && event.type === 1))
  await filesystem.removeWatcher({ watcherId })
  await fails(Code.NotFound, () => filesystem.getWatcherEvents({ watcherId }))
  say('watched directories')
}

// All that a stream says: its outputs, its end.
async function follow(stream, begun = () => {}, wrote = () => {}) {
  const told = { stdout: '', stderr: '', pty: '', size: 0 }
  for await (const { event: { event } } of stream) {
    if (event.case === 'start') await begun(event.value.pid)
    if (event.case === 'data') {
      told[event.value.output.case] += text.decode(event.value.output.value)
      told.size += event.value.output.value.length
      await wrote(told)
    }
    if (event.case === 'end') told.end = event.value
  }
  return told
}

const shell = (script, more = {}) => ({ cmd: '/bin/sh', args: ['-c', script], ...more })

async function programs() {
  const run = shell('echo "$A$B"; pwd; echo bad >&2; exit 3', { envs: { A: 'ä', B: '' }, cwd: '/tmp' })
  const told = await follow(processes.start({ process: run, tag: 'one' }))
  assert.deepEqual([told.stdout, told.stderr], ['ä\n/tmp\n', 'bad\n'])
  assert.deepEqual([told.end.exitCode, told.end.exited, told.end.error], [3, true, 'exit status 3'])
  const killed = await follow(processes.start({ process: shell('kill -9 $$') }))
  assert.deepEqual([killed.end.exitCode, killed.end.exited], [-1, false])
  const large = await follow(processes.start({ process: shell('head -c 5000000 /dev/zero') }))
  assert.equal(large.size, 5_000_000)
  await fails(Code.InvalidArgument, () => follow(processes.start({ process: { cmd: '/none' } })))
  await fails(Code.InvalidArgument, () => follow(processes.start({})))
  await fails(Code.DeadlineExceeded, () => follow(processes.start({ process: shell('sleep 60') }, { timeoutMs: 1000 })))
  await fails(Code.NotFound, () => processes.sendSignal({ process: { selector: { case: 'pid', value: 4194000 } }, signal: 9 }))
  say('programs and their ends')
}

async function input() {
  const told = await follow(processes.start({ process: shell('cat'), stdin: true, tag: 'typed' }), async (pid) => {
    const selector = { selector: { case: 'pid', value: pid } }
    const { processes: list } = await processes.list({})
    const own = list.find((one) => one.pid === pid)
    assert.deepEqual([own.tag, own.config.cmd, own.config.args], ['typed', '/bin/sh', ['-c', 'cat']])
    await processes.sendInput({ process: { selector: { case: 'tag', value: 'typed' } }, input: { input: { case: 'stdin', value: bytes('sent\n') } } })
    if (!name.startsWith('web')) await processes.streamInput(pieces(selector))
    await fails(Code.Internal, () => processes.sendInput({ process: selector, input: { input: { case: 'pty', value: bytes('x') } } }))
    await processes.closeStdin({ process: selector })
  })
  const streamed = name.startsWith('web') ? '' : 'x'.repeat(50_000) + 'y'.repeat(50_000)
  assert.equal(told.stdout, 'sent\n' + streamed)
  const { stdout } = await follow(processes.start({ process: shell('cat'), stdin: false }))
  assert.equal(stdout, '')
  say('input')
}

async function* pieces(selector) {
  yield { event: { case: 'start', value: { process: selector } } }
  yield { event: { case: 'keepalive', value: {} } }
  for (const letter of 'xy')
    yield { event: { case: 'data', value: { input: { input: { case: 'stdin', value: bytes(letter.repeat(50_000)) } } } } }
}

async function terminal() {
  const size = { cols: 90, rows: 30 }
  const script = shell('trap "stty size; exit 0" WINCH; stty size; while :; do sleep 0.1; done')
  let selector, other
  const begun = async (pid) => {
    selector = { selector: { case: 'pid', value: pid } }
    const joined = new Promise((resolve) => {
      other = follow(processes.connect({ process: selector }), resolve)
    })
    assert.equal(await joined, pid)
  }
  const wrote = async ({ pty }) => {
    if (pty === '30 90\r\n')
      await processes.update({ process: selector, pty: { size: { cols: 100, rows: 40 } } })
  }
  const told = await follow(processes.start({ process: script, pty: { size } }), begun, wrote)
  assert.equal(told.pty, '30 90\r\n40 100\r\n')
  assert.equal((await other).end.exitCode, 0)
  say('a terminal')
}

for (const part of [tree, changes, programs, input, terminal]) await part()
await filesystem.remove({ path: folder })
