// SPDX-License-Identifier: GPL-2.0-or-later
// usage: node code.mjs
// The unmodified npm package @e2b/code-interpreter: its template is built with interpreter.py, and it finds
// that by the name of its own.

import assert from 'node:assert/strict'
import './local_names.mjs'

const { Template } = await import('e2b')
const { Sandbox } = await import('@e2b/code-interpreter')
const say = (text) => console.log(text)

const template = Template({ fileContextPath: '.' })
  .fromTemplate('base')
  .copy('interpreter.py', '/srv/interpreter.py')
  .setStartCmd('exec python3 /srv/interpreter.py', 'curl -fsS 127.0.0.1:49999/contexts')
await Template.build(template, Sandbox.defaultTemplate, { cpuCount: 1, memoryMB: 512 })
say('its template')

async function listening(sandbox) {
  await sandbox.commands.run('until curl -fsSo /dev/null 127.0.0.1:49999/contexts; do sleep 0.1; done')
}

async function use(sandbox) {
  const first = await sandbox.runCode('x = 20; print("said"); x + 1')
  assert.deepEqual([first.text, first.logs.stdout.join(''), first.executionCount], ['21', 'said\n', 1])
  const heard = []
  const second = await sandbox.runCode('import sys; print(x, file=sys.stderr); env["GIVEN"]', {
    envs: { GIVEN: 'here' }, onStderr: (one) => heard.push(one.line),
  })
  assert.deepEqual([second.text, heard.join('')], ["'here'", '20\n'])
  const failed = await sandbox.runCode('1 / 0')
  assert.equal(failed.error.name, 'ZeroDivisionError')
  say('code with its variables, output and errors')

  const context = await sandbox.createCodeContext({ cwd: '/tmp' })
  assert.equal((await sandbox.runCode('x', { context })).error.name, 'NameError')
  assert.equal((await sandbox.listCodeContexts()).length, 2)
  await sandbox.removeCodeContext(context)
  assert.equal((await sandbox.listCodeContexts()).length, 1)
  say('contexts')

  await sandbox.files.write('/home/user/data', '5')
  assert.equal((await sandbox.runCode('int(open("/home/user/data").read()) + x')).text, '25')
  await sandbox.pause()
  const resumed = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 120_000 })
  assert.equal((await resumed.runCode('x')).text, '20')
  say('files, and a pause that keeps variables')
}

for (const network of [{}, { allowPublicTraffic: false }]) {
  const sandbox = await Sandbox.create({ timeoutMs: 180_000, network })
  try {
    await listening(sandbox)
    await use(sandbox)
  } finally {
    await sandbox.kill()
  }
}
