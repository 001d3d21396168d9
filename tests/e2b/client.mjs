// SPDX-License-Identifier: GPL-2.0-or-later
// usage: node client.mjs files|watch|large|commands|pty|links
// Asserts; says what was shown, a line each. API_URL, API_KEY and SANDBOX_ID say where, CLIENT
// which of the packages.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { connect } from './connect.mjs'

const sandbox = await connect()
const { CommandExitError, FileNotFoundError, FilesystemEventType, TimeoutError } = await import(process.env.CLIENT)
const say = (text) => console.log(text)
const home = `/home/user/${Math.random().toString(36).slice(2)}`

async function until(condition, what) {
  for (const end = Date.now() + 10000; !(await condition()); ) {
    assert.ok(Date.now() < end, `in time: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function files() {
  assert.equal(await sandbox.isRunning(), true)
  const info = await sandbox.files.write(`${home}/a/b.txt`, 'hello')
  assert.equal(info.path, `${home}/a/b.txt`)
  assert.equal(await sandbox.files.read(`${home}/a/b.txt`), 'hello')
  await sandbox.files.write(`${home}/empty`, '')
  assert.equal(await sandbox.files.read(`${home}/empty`), '')
  say('write and read')

  const bytes = crypto.getRandomValues(new Uint8Array(60000))
  await sandbox.files.write([
    { path: `${home}/many/1`, data: bytes.buffer },
    { path: `${home}/many/2`, data: new Blob(['two']) },
  ])
  assert.deepEqual(await sandbox.files.read(`${home}/many/1`, { format: 'bytes' }), bytes)
  assert.equal(await (await sandbox.files.read(`${home}/many/2`, { format: 'blob' })).text(), 'two')
  const stream = await sandbox.files.read(`${home}/many/2`, { format: 'stream' })
  assert.equal(await new Response(stream).text(), 'two')
  say('several at once, and the formats of read')

  const text = 'the same again and again\n'.repeat(20000)
  await sandbox.files.write(`${home}/packed`, text, { gzip: true })
  assert.equal(await sandbox.files.read(`${home}/packed`, { gzip: true }), text)
  await sandbox.files.write(`${home}/streamed`, new Blob([text]).stream())
  assert.equal(await sandbox.files.read(`${home}/streamed`), text)
  say('gzip and streams')

  await sandbox.files.write(`${home}/noted`, 'x', { metadata: { purpose: 'a test' } })
  assert.deepEqual((await sandbox.files.getInfo(`${home}/noted`)).metadata, { purpose: 'a test' })
  say('metadata')

  assert.equal(await sandbox.files.makeDir(`${home}/new/deep`), true)
  assert.equal(await sandbox.files.makeDir(`${home}/new/deep`), false)
  const names = (await sandbox.files.list(home, { depth: 2 })).map((entry) => entry.path)
  assert.ok(names.includes(`${home}/a/b.txt`) && names.includes(`${home}/new/deep`), names)
  assert.equal((await sandbox.files.rename(`${home}/a/b.txt`, `${home}/c.txt`)).name, 'c.txt')
  assert.equal(await sandbox.files.exists(`${home}/a/b.txt`), false)
  await sandbox.files.remove(`${home}/c.txt`)
  await assert.rejects(sandbox.files.read(`${home}/c.txt`), FileNotFoundError)
  say('makeDir, list, rename, exists, remove')

  await sandbox.files.write('/root/own', 'x', { user: 'root' })
  assert.equal((await sandbox.files.getInfo('/root/own')).owner, 'root')
  assert.equal((await sandbox.files.write('at-home', 'x')).path, '/home/user/at-home')
  say('users and relative paths')
}

async function watch() {
  await sandbox.files.makeDir(home)
  const seen = []
  const handle = await sandbox.files.watchDir(home, (event) => seen.push(event), {
    recursive: true, includeEntry: true,
  })
  const has = (type, name) => seen.some((event) => event.type === type && event.name === name)
  await sandbox.files.write(`${home}/f`, 'x')
  await until(() => has(FilesystemEventType.WRITE, 'f'), 'a write')
  await sandbox.files.write(`${home}/new/deep/g`, 'x')
  await until(() => has(FilesystemEventType.CREATE, 'new/deep/g'), 'a new directory')
  assert.equal(seen.find((event) => event.name === 'f').entry.path, `${home}/f`)
  await sandbox.files.remove(`${home}/f`)
  await until(() => has(FilesystemEventType.REMOVE, 'f'), 'a removal')
  await sandbox.files.rename(`${home}/new/deep/g`, `${home}/new/deep/h`)
  await until(() => has(FilesystemEventType.RENAME, 'new/deep/g'), 'a new name')
  await sandbox.commands.run(`chmod 600 ${home}/new/deep/h`)
  await until(() => has(FilesystemEventType.CHMOD, 'new/deep/h'), 'other rights')
  await handle.stop()
  const before = seen.length
  await sandbox.files.write(`${home}/after`, 'x')
  const flat = []
  const other = await sandbox.files.watchDir(home, (event) => flat.push(event.name))
  await sandbox.files.write(`${home}/new/unseen`, 'x')
  await sandbox.files.write(`${home}/seen`, 'x')
  await until(() => flat.includes('seen'), 'a write beside')
  assert.ok(!flat.some((name) => name.includes('unseen')) && seen.length === before)
  await other.stop()
  await assert.rejects(sandbox.files.watchDir(`${home}/none`, () => {}), FileNotFoundError)
  say('watchDir, recursive, with entries')
}

async function large() {
  const block = crypto.getRandomValues(new Uint8Array(1 << 16))
  const count = 640
  const upload = () => {
    let sent = 0
    return new ReadableStream({
      pull(controller) { sent++ < count ? controller.enqueue(block) : controller.close() },
    })
  }
  const hash = createHash('sha256')
  for (let i = 0; i < count; i++) hash.update(block)
  const wanted = hash.digest('hex')
  await sandbox.files.write(`${home}/streamed`, upload())
  const sum = await sandbox.commands.run(`sha256sum ${home}/streamed`)
  assert.equal(sum.stdout.split(' ')[0], wanted)
  say('a long stream up')

  const got = createHash('sha256')
  for await (const piece of await sandbox.files.read(`${home}/streamed`, { format: 'stream' })) got.update(piece)
  assert.equal(got.digest('hex'), wanted)
  await sandbox.files.write([
    { path: `${home}/whole`, data: new Blob(Array(count).fill(block)) }, { path: `${home}/small`, data: 'x' },
  ])
  assert.equal((await sandbox.files.getInfo(`${home}/whole`)).size, count * block.length)
  say('a long stream down, a large part beside a small one')
}

async function commands() {
  const done = await sandbox.commands.run('echo out; echo err >&2')
  assert.deepEqual([done.stdout, done.stderr, done.exitCode], ['out\n', 'err\n', 0])
  await assert.rejects(sandbox.commands.run('exit 7'),
    (error) => error instanceof CommandExitError && error.exitCode === 7)
  say('foreground and exit status')

  const where = await sandbox.commands.run('echo $PWD $NAME $(id -un)', {
    cwd: '/tmp', envs: { NAME: 'value' }, user: 'root',
  })
  assert.equal(where.stdout, '/tmp value root\n')
  say('cwd, envs, user')

  let streamed = ''
  const echo = await sandbox.commands.run('cat', {
    background: true, stdin: true, onStdout: (text) => { streamed += text },
  })
  await sandbox.commands.sendStdin(echo.pid, 'typed\n')
  await until(() => streamed === 'typed\n', 'the echo')
  assert.ok((await sandbox.commands.list()).some((process) => process.pid === echo.pid))
  await sandbox.commands.closeStdin(echo.pid)
  assert.equal((await echo.wait()).exitCode, 0)
  say('background, stdin, list, closeStdin')

  const sleeper = await sandbox.commands.run('sleep 100', { background: true })
  await sleeper.disconnect()
  const again = await sandbox.commands.connect(sleeper.pid)
  assert.equal(await again.kill(), true)
  await assert.rejects(again.wait(), CommandExitError)
  assert.equal(await sandbox.commands.kill(sleeper.pid), false)
  say('disconnect, connect, kill')

  const counter = await sandbox.commands.run('while read n; do echo $((n + 1)); done', {
    background: true, stdin: true,
  })
  let answers = ''
  const listener = await sandbox.commands.connect(counter.pid, { onStdout: (text) => { answers += text } })
  await sandbox.commands.sendStdin(counter.pid, '41\n')
  await until(() => answers === '42\n', 'output after connect')
  assert.equal(await sandbox.commands.kill(counter.pid), true)
  await assert.rejects(listener.wait(), CommandExitError)
  await assert.rejects(sandbox.commands.connect(counter.pid + 100000))
  assert.ok(!(await sandbox.commands.list()).some((process) => process.pid === counter.pid))
  say('connect gives what comes from then on')

  await assert.rejects(sandbox.commands.run('sleep 100', { timeoutMs: 1000 }), TimeoutError)
  say('timeout')
}

async function pty() {
  let output = ''
  const terminal = await sandbox.pty.create({
    cols: 80, rows: 24, timeoutMs: 0, onData: (data) => { output += new TextDecoder().decode(data) },
  })
  const type = (text) => sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode(text))
  await type('echo size $(tput cols) $(tput lines) $TERM\n')
  await until(() => output.includes('size 80 24 xterm-256color'), 'the size')
  await sandbox.pty.resize(terminal.pid, { cols: 100, rows: 30 })
  await type('echo size $(tput cols) $(tput lines)\n')
  await until(() => output.includes('size 100 30'), 'the new size')
  assert.equal(await sandbox.pty.kill(terminal.pid), true)
  await assert.rejects(terminal.wait(), CommandExitError)
  say('terminal: create, input, resize, kill')
}

async function links() {
  await sandbox.files.write(`${home}/f`, 'linked')
  const download = await sandbox.downloadUrl(`${home}/f`, { useSignatureExpiration: 60 })
  assert.equal(await (await fetch(download)).text(), 'linked')
  const forever = await sandbox.downloadUrl(`${home}/f`)
  assert.equal(await (await fetch(forever)).text(), 'linked')
  const form = new FormData()
  form.append('file', new Blob(['sent']), 'f')
  const upload = await sandbox.uploadUrl(`${home}/g`, { useSignatureExpiration: 60 })
  assert.equal((await fetch(upload, { method: 'POST', body: form })).status, 200)
  assert.equal(await sandbox.files.read(`${home}/g`), 'sent')
  say('signed links both ways')

  const late = await fetch(await sandbox.downloadUrl(`${home}/f`, { useSignatureExpiration: -60 }))
  assert.deepEqual([late.status, await late.json()],
    [401, { code: 401, message: 'signature is already expired' }])
  assert.equal((await fetch(download.replace(/signature=v1_./, 'signature=v1_'))).status, 401)
  assert.equal((await fetch(download, { method: 'POST', body: form })).status, 401)
  say('links that are expired, forged, or for the other direction')
}

await { files, watch, large, commands, pty, links }[process.argv[2]]()
process.exit(0)
