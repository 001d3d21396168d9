// SPDX-License-Identifier: GPL-2.0-or-later
// usage: node code.mjs
// The unmodified npm package @e2b/code-interpreter, and the ready-made template that it finds by its name.

import assert from 'node:assert/strict'
import './local_names.mjs'

const { Sandbox } = await import('@e2b/code-interpreter')
const say = (text) => console.log(text)

async function cells(sandbox) {
  const first = await sandbox.runCode('x = 20; print("said"); x + 1')
  assert.deepEqual([first.text, first.logs.stdout.join(''), first.executionCount], ['21', 'said\n', 1])
  const heard = []
  const second = await sandbox.runCode('import os, sys; print(x, file=sys.stderr); os.environ["GIVEN"] + os.environ["CREATED"]', {
    envs: { GIVEN: 'here' }, onStderr: (one) => heard.push(one.line),
  })
  assert.deepEqual([second.text, heard.join(''), second.executionCount], ['herewith', '20\n', 2])
  assert.equal((await sandbox.runCode('os.environ.get("GIVEN")')).text, undefined)
  const failed = await sandbox.runCode('1 / 0')
  assert.deepEqual([failed.error.name, failed.error.value], ['ZeroDivisionError', 'division by zero'])
  assert.match(failed.error.traceback, /1 \/ 0/)
  say('cells with variables, output and errors')
}

async function languages(sandbox) {
  const run = async (code, language, envs) => sandbox.runCode(code, { language, envs })
  assert.equal((await run('const a = 1; a + 1', 'js')).text, '2')
  const again = await run("import { join } from 'path'\nconst a = await Promise.resolve(join('p', process.env.GIVEN)); a", 'js', { GIVEN: 'q' })
  assert.equal(again.text, 'p/q')
  assert.equal((await run('process.env.GIVEN ?? process.env.CREATED', 'javascript')).text, 'with')
  const thrown = await run('throw new RangeError("far")', 'js')
  assert.deepEqual([thrown.error.name, thrown.error.value], ['RangeError', 'far'])
  assert.deepEqual((await run('enum Kind { First = 7 }\nconst kind: Kind = Kind.First; kind', 'ts')).text, '7')
  const shell = await run('y=4; echo $GIVEN $CREATED; echo low >&2', 'bash', { GIVEN: "it's" })
  assert.deepEqual([shell.logs.stdout.join(''), shell.logs.stderr.join('')], ["it's with\n", 'low\n'])
  assert.equal((await run('echo ${GIVEN:-none} $y', 'bash')).logs.stdout.join(''), 'none 4\n')
  await assert.rejects(run('x', 'cobol'), /400/)
  say('JavaScript, TypeScript and bash')
}

async function shapes(sandbox) {
  const [table] = (await sandbox.runCode('import pandas as pd\npd.DataFrame({"a": [1, float("nan")]})')).results
  assert.deepEqual(table.data, { a: [1, null] })
  assert.match(table.html, /<table/)
  assert.deepEqual((await sandbox.runCode('[1, {"a": 2}]')).results[0].json, [1, { a: 2 }])
  const raw = await sandbox.runCode('from IPython.display import display\ndisplay({"text/latex": "$a$", "x/y": "z"}, raw=True)')
  assert.deepEqual([raw.results[0].latex, raw.results[0].isMainResult], ['$a$', false])
  const drawn = await sandbox.runCode(`
import matplotlib.pyplot as plt
figure, (left, right) = plt.subplots(1, 2)
left.bar(["a", "b"], [3, 4], label="group"); left.set_xlabel("name"); left.set_ylabel("size (kg)")
right.boxplot([[1, 2, 3, 4, 50]])
plt.show()
plt.pie([1, 3], labels=["one", "three"]); plt.show()`)
  const [both, pie] = drawn.results
  assert.equal(Buffer.from(both.png, 'base64').subarray(1, 4).toString(), 'PNG')
  assert.deepEqual([both.chart.type, both.chart.elements.map((one) => one.type)], ['superchart', ['bar', 'box_and_whisker']])
  const [bar, box] = both.chart.elements
  assert.deepEqual([bar.elements, bar.y_unit], [
    [{ label: 'a', group: 'group', value: 3 }, { label: 'b', group: 'group', value: 4 }], 'kg'])
  assert.deepEqual([box.elements[0].median, box.elements[0].outliers], [3, [50]])
  assert.deepEqual(pie.chart.elements.map((one) => [one.label, one.angle]), [['one', 90], ['three', 270]])
  say('tables, lists, pictures and charts')
}

async function contexts(sandbox) {
  const languages = (await sandbox.listCodeContexts()).map((one) => one.language)
  assert.ok(languages.includes('python') && languages.includes('javascript'), String(languages))
  const context = await sandbox.createCodeContext({ cwd: '/tmp' })
  assert.deepEqual([context.language, context.cwd], ['python', '/tmp'])
  assert.equal((await sandbox.runCode('import os; os.getcwd()', { context })).text, '/tmp')
  assert.equal((await sandbox.runCode('x', { context })).error.name, 'NameError')
  await sandbox.runCode('z = 1', { context })
  await sandbox.restartCodeContext(context)
  assert.equal((await sandbox.runCode('z', { context })).error.name, 'NameError')
  assert.match((await sandbox.runCode('os._exit(3)', { context })).error.name, /NameError/)
  assert.equal((await sandbox.runCode('import os; os._exit(3)', { context })).error.name, 'ChildProcessError')
  assert.equal((await sandbox.runCode('2', { context })).text, '2')
  await sandbox.removeCodeContext(context)
  await assert.rejects(sandbox.runCode('1', { context }), /not found/)
  await assert.rejects(sandbox.createCodeContext({ cwd: '/nowhere' }), /400/)
  say('contexts')
}

async function interrupts(sandbox) {
  for (const [language, code] of [['python', 'import time\nwhile True: time.sleep(1)'], ['js', 'for (;;);'],
    ['bash', 'while :; do sleep 1; done']]) {
    await assert.rejects(sandbox.runCode(code, { language, timeoutMs: 1000 }), /timeout|timed out/i)
  }
  assert.equal((await sandbox.runCode('x', { timeoutMs: 10_000 })).text, '20')
  assert.equal((await sandbox.runCode('a', { language: 'js', timeoutMs: 10_000 })).text, 'p/q')
  assert.equal((await sandbox.runCode('echo $y', { language: 'bash', timeoutMs: 10_000 })).logs.stdout.join(''), '4\n')
  const body = JSON.stringify({ code: 'for _ in range(40): print("a" * (1 << 20))' })
  const { stdout } = await sandbox.commands.run(
    `curl -sS -d '${body}' 127.0.0.1:49999/execute >/tmp/loud; wc -c </tmp/loud; grep -c 'left out' /tmp/loud; rm /tmp/loud`,
    { timeoutMs: 120_000 })
  const [size, notes] = stdout.split('\n').map(Number)
  assert.ok(size > 30 << 20 && size < 33 << 20 && notes === 1, stdout)
  say('interrupts, and a bound of the output')
}

async function copies(sandbox) {
  await sandbox.pause()
  const resumed = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 300_000 })
  assert.equal((await resumed.runCode('x')).text, '20')
  const { snapshotId } = await resumed.createSnapshot()
  const draws = { python: 'import random; random.random()', js: 'Math.random()', bash: 'echo $RANDOM' }
  const drawn = []
  for (let i = 0; i < 2; i++) {
    const copy = await Sandbox.create(snapshotId, { timeoutMs: 120_000, envs: { CREATED: `copy ${i}` } })
    try {
      assert.equal((await copy.runCode('f"{x} {os.environ[\'CREATED\']}"')).text, `20 copy ${i}`)
      for (const [language, code] of Object.entries(draws)) {
        const { text, logs } = await copy.runCode(code, { language })
        drawn.push(`${language} ${text ?? logs.stdout.join('')}`)
      }
    } finally {
      await copy.kill()
    }
  }
  assert.equal(new Set(drawn).size, 6, drawn.join('; '))
  await Sandbox.deleteSnapshot(snapshotId)
  say('a pause that keeps variables, and copies with variables and random numbers of their own')
}

async function listening(sandbox) {
  await sandbox.commands.run('until curl -fsSo /dev/null 127.0.0.1:49999/health; do sleep 0.1; done')
}

const sandbox = await Sandbox.create({ timeoutMs: 300_000, envs: { CREATED: 'with' } })
try {
  await listening(sandbox)
  for (const part of [cells, languages, shapes, contexts, interrupts, copies]) await part(sandbox)
} finally {
  await sandbox.kill()
}
const closed = await Sandbox.create({ timeoutMs: 120_000, network: { allowPublicTraffic: false } })
try {
  await listening(closed)
  assert.equal((await closed.runCode('1 + 1')).text, '2')
} finally {
  await closed.kill()
}
say('a sandbox without public traffic')
