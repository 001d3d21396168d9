// SPDX-License-Identifier: GPL-2.0-or-later
// usage: node build.mjs built|dockerfile|failures
// Builds of templates with the unmodified npm package; NAME is what to build, FILES a folder with
// app/main.sh, app/deep/data.txt and one.txt.

import assert from 'node:assert/strict'
import './local_names.mjs'

const { BuildError, Sandbox, Template, FileUploadError } = await import(process.env.CLIENT)
const { NAME, FILES } = process.env
const say = (text) => console.log(text)

function collect(lines) {
  return { onBuildLogs: (entry) => lines.push(entry) }
}

async function built() {
  const lines = []
  const template = Template({ fileContextPath: FILES })
    .fromTemplate('base')
    .setEnvs({ GREETING: 'hello there', EMPTY: '' })
    .setWorkdir('/app')
    .copy('app', '.')
    .copy('one.txt', 'sub/')
    .copy('*.txt', '/srv/all', { user: 'root', mode: 0o640 })
    .runCmd('echo "$GREETING" >said && id -un >>said && pwd >>said && sh main.sh')
    .runCmd('touch /root/by-root', { user: 'root' })
    .makeDir('made')
    .setStartCmd('echo started $GREETING $E2B_SANDBOX_ID >>/tmp/started; exec sleep 1000', 'test -s /tmp/started')
  const made = await Template.build(template, `${NAME}:first`, { cpuCount: 1, memoryMB: 512, ...collect(lines) })
  assert.equal(made.templateId, NAME)
  assert.match(made.buildId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  const messages = lines.map((one) => one.message).join('\n')
  assert.match(messages, /from main/, 'what a step wrote is in the log')
  assert.match(messages, /step 1 of/)
  assert.equal((await Template.getBuildStatus(made)).status, 'ready')
  say('a build')

  assert.equal(await Template.exists(NAME), true)
  assert.ok((await Template.getTags(NAME)).some((one) => one.tag === 'first' && one.buildId === made.buildId))
  for (const name of [NAME, `${NAME}:first`]) {
    const sandbox = await Sandbox.create(name, { timeoutMs: 120_000 })
    try {
      const run = async (command, options) => (await sandbox.commands.run(command, options)).stdout
      assert.equal(await run('pwd'), '/app\n')
      assert.equal(await run('cat said'), 'hello there\nuser\n/app\n')
      assert.equal(await run('echo "$GREETING"; echo "[$EMPTY]"'), 'hello there\n[]\n')
      assert.equal(await run('cat deep/data.txt sub/one.txt'), 'data\none\n')
      assert.equal(await run("stat -c '%U %a' /srv/all/one.txt", { user: 'root' }), 'root 640\n')
      assert.equal(await run("stat -c '%U' main.sh made"), 'user\nuser\n')
      assert.equal(await run('ls /root/by-root', { user: 'root' }), '/root/by-root\n')
      assert.equal(await run('ls -a /var/tmp', { user: 'root' }).then((text) => text.includes('sandlot')), false)
      // It runs in the memory that the build has kept, and so has the id of the build's sandbox.
      assert.match(await run('tail -n 1 /tmp/started'), /^started hello there \w+\n$/)
      assert.equal(await run('pgrep -fc "^sleep 1000"'), '1\n')
      const info = await sandbox.getInfo()
      assert.deepEqual([info.cpuCount, info.memoryMB], [1, 512])
    } finally {
      await sandbox.kill()
    }
  }
  say('sandboxes of it')

  const again = await Template.buildInBackground(
    Template({ fileContextPath: FILES }).fromTemplate(NAME).copy('one.txt', 'again.txt').runCmd('echo "$GREETING" again >>said'), NAME)
  assert.notEqual(again.buildId, made.buildId)
  let status
  let offset = 0
  do {
    status = await Template.getBuildStatus(again, { logsOffset: offset })
    offset += status.logEntries.length
    assert.ok(['waiting', 'building', 'ready'].includes(status.status), JSON.stringify(status))
    await new Promise((resolve) => setTimeout(resolve, 200))
  } while (status.status !== 'ready')
  const sandbox = await Sandbox.create(NAME, { timeoutMs: 120_000 })
  try {
    assert.equal((await sandbox.commands.run('tail -n 1 said; cat again.txt')).stdout, 'hello there again\none\n')
  } finally {
    await sandbox.kill()
  }
  say('a build of a build, in the background')
}

// Their packages read the Dockerfile, without its quotes and older forms of ENV, and send the steps.
async function dockerfile() {
  const text = `FROM e2bdev/base:latest
ARG WORD=said
ENV FIRST=one SECOND=$WORD-two
WORKDIR /srv/app
COPY app/ ./
COPY --chown=user one.txt /srv/own/
RUN echo "$FIRST|$SECOND|$WORD" >/srv/text && \\
    pwd >>/srv/text
USER user
RUN id -un >/tmp/who
`
  await Template.build(Template({ fileContextPath: FILES }).fromDockerfile(text), NAME, { cpuCount: 1, memoryMB: 512 })
  const sandbox = await Sandbox.create(NAME, { timeoutMs: 120_000 })
  try {
    const said = await sandbox.commands.run('cat /srv/text /tmp/who /srv/app/deep/data.txt; stat -c %U /srv/own/one.txt; pwd')
    assert.equal(said.stdout, 'one|said-two|said\n/srv/app\nuser\ndata\nuser\n/srv/app\n')
  } finally {
    await sandbox.kill()
  }
  say('a Dockerfile')
}

async function failures() {
  const failing = Template({ fileContextPath: FILES }).fromTemplate('base').setEnvs({ A: 'b' }).runCmd('echo before; exit 7')
  await assert.rejects(Template.build(failing, NAME), (error) => {
    assert.ok(error instanceof BuildError, String(error))
    assert.match(error.message, /step 2 of 2: run .*status 7.*before/s)
    return true
  })
  say('a step that fails')
  await assert.rejects(Template.build(Template().fromTemplate('base').runCmd('true', { user: 'nobody-here' }), NAME), /nobody-here/)
  await assert.rejects(Template.build(Template().fromImage('No Image'), NAME), /400.*fromImage/s)
  const keys = { accessKeyId: 'a', secretAccessKey: 'b', region: 'c' }
  await assert.rejects(Template.build(Template().fromAWSRegistry('registry.example.com/a', keys), NAME), /501.*fromImageRegistry/s)
  await assert.rejects(Template.build(Template().fromTemplate('no-such-template'), NAME), /404.*fromTemplate/s)
  await assert.rejects(Template.build(Template().fromTemplate('base'), 'Not A Name'), /400.*name/s)
  await assert.rejects(Template.build(Template().fromTemplate('base'), NAME, { memoryMB: 7 }), /400.*memoryMB/s)
  await assert.rejects(Template.build(Template().fromTemplate('base'), `${NAME}:not a tag`), /400.*tag/s)
  say('refusals that name the field')
}

await { built, dockerfile, failures }[process.argv[2]]()
