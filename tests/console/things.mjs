// SPDX-License-Identifier: GPL-2.0-or-later
// What a team has besides running sandboxes, by hand: every field of a create and the curl line beside it,
// a volume with files, a key, a member, a checkpoint of SANDBOX and a template of it, its activity; and a
// program that is let in with CODE. TEAM is the user's, on a plan with sizes of its own; MEMBER a user outside.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import fs from 'node:fs/promises'
import { promisify } from 'node:util'
import { env, run, say, signIn, url } from './lib.mjs'

// As a shell has to be kept from reading it.
const TEXT = "the form's own $HOME"

const dialogOf = page => page.getByRole('dialog')

/** A key is shown once, in the dialog that it is made in. */
async function key(page) {
  await page.goto(url('/keys'))
  await page.getByLabel('Team', { exact: true }).selectOption(env.TEAM)
  await page.getByRole('button', { name: 'New key' }).click()
  await dialogOf(page).getByLabel('Name').fill('of the form')
  await dialogOf(page).getByLabel(env.TEAM, { exact: true }).check()
  await dialogOf(page).getByRole('button', { name: 'Create' }).click()
  const made = await page.locator('[data-secret=key]').innerText()
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.getByRole('row', { name: /^of the form/ }).waitFor()
  assert.ok(!(await page.content()).includes(made))
  return made
}

async function revoke(page) {
  await page.goto(url('/keys'))
  await page.getByRole('button', { name: 'Revoke of the form' }).click()
  await dialogOf(page).getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('row', { name: /^of the form/ }).waitFor({ state: 'detached' })
}

async function volume(page) {
  await page.goto(url('/volumes'))
  await page.getByRole('button', { name: 'New volume' }).first().click()
  await dialogOf(page).getByLabel('Name').fill('shared')
  await dialogOf(page).getByRole('button', { name: 'Create' }).click()
  await page.getByRole('link', { name: 'shared', exact: true }).click()
  await page.getByText('This directory is empty').waitFor()
  await page.locator('input[type=file]').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('one') })
  await page.getByRole('button', { name: 'Edit a.txt' }).click()
  const editor = page.getByLabel('Contents of /a.txt')
  assert.equal(await editor.inputValue(), 'one')
  await editor.fill('two')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await editor.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'New directory' }).click()
  await dialogOf(page).getByLabel('Name').fill('below')
  await dialogOf(page).getByRole('button', { name: 'Make', exact: true }).click()
  await page.getByRole('button', { name: 'below, directory' }).waitFor()
  await page.getByRole('button', { name: 'Rename a.txt' }).click()
  await dialogOf(page).getByLabel('Name').fill('b.txt')
  await dialogOf(page).getByRole('button', { name: 'Rename' }).click()
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download b.txt' }).click()])
  assert.equal(await fs.readFile(await download.path(), 'utf8'), 'two')
  assert.equal(download.suggestedFilename(), 'b.txt')
  // The browser fetches it by itself: the page holds none of it.
  assert.match(download.url(), /^https:.*[/]v1[/]volumes[/]vol_\w+[/]files[?]/)
  await page.getByRole('button', { name: 'Delete b.txt' }).click()
  await dialogOf(page).getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('row', { name: /^b[.]txt/ }).waitFor({ state: 'detached' })
}

/** Every field; the curl line that stands beside them, in a shell, makes the sandbox that they say. */
async function create(page, secret) {
  await page.goto(url('/sandboxes/new'))
  await page.getByLabel('From').selectOption(env.TEMPLATE)
  await page.getByLabel('Version').fill('1')
  await page.getByLabel('Processors').selectOption('1')
  await page.getByLabel('Memory, MiB').fill('512')
  await page.getByLabel('Timeout, seconds').fill('601')
  await page.getByLabel('When it is over').selectOption('pause')
  await page.getByLabel('Pause it when idle for, seconds').fill('3600')
  await page.getByLabel('Resume at a request').check()
  await page.getByLabel('When memory cannot be kept').selectOption('keep_running')
  for (const [button, name, value] of [['Add metadata', 'Key', 'Value'], ['Add a variable', 'Name', 'Value']]) {
    const group = page.getByRole('group', { name: button === 'Add metadata' ? 'Metadata' : 'Environment' })
    await group.getByRole('button', { name: button }).click()
    await group.getByLabel(`${name} 1`, { exact: true }).fill('FROM')
    await group.getByLabel(`${value} 1`, { exact: true }).fill(TEXT)
  }
  await page.getByRole('button', { name: 'Mount a volume' }).click()
  await page.getByLabel('Path in the sandbox 1').fill('/mnt/shared')
  await page.getByLabel('Volume 1').selectOption('shared')
  await page.getByRole('button', { name: 'Add a port' }).click()
  await page.getByLabel('Port 1', { exact: true }).fill('3000')
  await page.getByLabel('Public', { exact: true }).uncheck()
  await page.getByLabel('TLS inside').check()
  await page.getByLabel('Every port').check()
  await page.getByLabel('Host that servers see').fill('localhost:${PORT}')
  await page.getByLabel('A policy of its own').check()
  await page.getByLabel('Internet access').uncheck()
  await page.getByLabel('Package registries').check()
  await page.getByLabel('Allow', { exact: true }).fill('allowed.example')
  await page.getByLabel('Deny', { exact: true }).fill('10.0.0.0/8')
  const line = await page.locator('aside pre').innerText()
  const { stdout } = await promisify(execFile)('sh', ['-c', line], {
    env: { PATH: env.PATH, SANDLOT_KEY: secret, CURL_CA_BUNDLE: env.CA_FILE },
  })
  const made = JSON.parse(stdout)
  assert.equal(made.team, env.TEAM, stdout)
  assert.deepEqual([made.template, made.cpu, made.memory_mb, made.timeout], [env.TEMPLATE, 1, 512, 601])
  assert.deepEqual(made.lifecycle, {
    on_timeout: 'pause',
    auto_resume: true,
    pause_memory: true,
    on_pause_failure: 'keep_running',
    idle_timeout: 3600,
    idle_connections: 'wait',
  })
  assert.deepEqual([made.metadata, made.volume_mounts], [{ FROM: TEXT }, { '/mnt/shared': 'shared' }])
  const { allow_internet_access: internet, allow_package_registry_access: registries, allow_out: allow, deny_out: deny } = made.network
  assert.deepEqual([internet, registries, allow, deny], [false, true, ['allowed.example'], ['10.0.0.0/8']])
  assert.deepEqual([made.expose_all_ports, made.mask_request_host], [true, 'localhost:${PORT}'])
  assert.deepEqual(made.exposed_ports, [{ port: 3000, protocol: 'https', public: false }])
}

/** The sandbox of the form has no name yet; with one, the volume names it. */
async function mounted(page) {
  await page.goto(url('/volumes'))
  const row = page.getByRole('row', { name: /^shared/ })
  const id = await row.getByRole('link', { name: /^sbx_/ }).innerText()
  await page.evaluate(async path => {
    const headers = { 'Sandlot-Console': '1', 'Content-Type': 'application/json' }
    await fetch(path, { method: 'PATCH', headers, body: '{"name":"of-the-form"}' })
  }, `/v1/sandboxes/${id}`)
  await page.reload()
  await row.getByRole('link', { name: 'of-the-form', exact: true }).click()
  await page.getByRole('heading', { name: /^of-the-form/, level: 1 }).waitFor()
}

async function team(page) {
  await page.goto(url('/team'))
  await page.getByRole('button', { name: 'Invite somebody' }).click()
  await dialogOf(page).getByLabel('Name').fill(env.MEMBER)
  await dialogOf(page).getByLabel('Role').selectOption('viewer')
  await dialogOf(page).getByRole('button', { name: 'Invite', exact: true }).click()
  const withdraw = page.getByRole('button', { name: `Withdraw the invitation of ${env.MEMBER}` })
  await withdraw.click()
  await dialogOf(page).getByRole('button', { name: 'Withdraw' }).click()
  await withdraw.waitFor({ state: 'detached' })
  const role = page.getByLabel(`Role of ${env.MATE}`)
  await role.selectOption('member')
  await page.getByRole('button', { name: `Remove ${env.MATE}` }).click()
  await dialogOf(page).getByRole('button', { name: 'Remove' }).click()
  await role.waitFor({ state: 'detached' })
  // What was done is told of by itself, with whom it was about and who did it.
  const activity = page.getByRole('region', { name: 'Activity' })
  for (const [action, name] of [['invite', env.MEMBER], ['withdraw', env.MEMBER], ['update', env.MATE], ['remove', env.MATE]])
    await activity.getByRole('row', { name: new RegExp(`member[.]${action} ${name} ${env.USER_NAME} in the console .* done$`) }).waitFor()
  await activity.getByRole('row', { name: /sandbox[.]create sbx_\w+ .* with a key .* done$/ }).first().waitFor()
}

async function template(page) {
  await page.goto(url(`/sandboxes/${env.SANDBOX}`))
  await page.getByRole('button', { name: 'Checkpoint' }).click()
  await dialogOf(page).getByLabel('Name').fill('before')
  await dialogOf(page).getByRole('button', { name: 'Create' }).click()
  await page.getByText('Checkpoint before is made.').waitFor()
  await page.getByRole('link', { name: 'Checkpoints', exact: true }).click()
  await page.getByRole('link', { name: 'New sandbox from before' }).click()
  await page.locator('aside pre').getByText('"snapshot_id": "ckp_').waitFor()
  await page.goto(url('/templates'))
  await page.getByRole('button', { name: 'New template' }).click()
  await dialogOf(page).getByLabel('Name').fill('mine')
  await dialogOf(page).getByLabel('Dockerfile').fill('FORM nothing')
  await page.getByRole('button', { name: 'Build the template' }).click()
  await dialogOf(page).getByText('did you mean FROM').waitFor()
  await dialogOf(page).getByLabel('Made from').selectOption('checkpoint_id')
  const checkpoint = await dialogOf(page).locator('option', { hasText: /^before/ }).getAttribute('value')
  await dialogOf(page).getByLabel('Checkpoint', { exact: true }).selectOption(checkpoint)
  await page.getByRole('button', { name: 'Build the template' }).click()
  await page.getByRole('row', { name: /^1 ready/ }).waitFor()
  await page.getByRole('region', { name: 'Build log' }).getByText(/\S/).first().waitFor()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await dialogOf(page).getByRole('button', { name: 'Delete' }).click()
  await page.getByText('The template mine is deleted.').waitFor()
  await page.getByRole('button', { name: 'New template' }).click()
  await dialogOf(page).getByLabel('Name').fill('written')
  await dialogOf(page).getByLabel('Dockerfile').fill(`FROM ${env.TEMPLATE}\nRUN echo here >/said`)
  await page.getByRole('button', { name: 'Build the template' }).click()
  await page.getByRole('row', { name: /^1 ready/ }).waitFor({ timeout: 120_000 })
  await page.getByRole('row', { name: /run echo here/ }).waitFor()
}

/** A version that failed is built again as a new one, which its log shows at once. */
async function again(page) {
  const build = n => page.getByRole('button', { name: `Build version ${n} again` })
  await page.goto(url('/templates'))
  await page.getByRole('button', { name: 'New template' }).click()
  await dialogOf(page).getByLabel('Name').fill('failing')
  await dialogOf(page).getByLabel('Dockerfile').fill(`FROM ${env.TEMPLATE}\nRUN echo tried && exit 3`)
  await page.getByRole('button', { name: 'Build the template' }).click()
  await build(1).click({ timeout: 120_000 })
  await page.getByText('Version 2 is being built as version 1 was.').waitFor()
  await page.getByRole('row', { name: /^2 failed/ }).waitFor({ timeout: 120_000 })
  await build(2).waitFor()
  assert.match(await page.getByRole('region', { name: 'Build log' }).innerText(), /status 3/)
  await page.goto(url('/templates/written'))
  await page.getByRole('row', { name: /^1 ready/ }).waitFor()
  assert.equal(await build(1).count(), 0)
}

async function device(page) {
  await page.goto(url(`/device?code=${env.CODE}`))
  await page.getByRole('heading', { name: 'Let a laptop in?' }).waitFor()
  await page.getByRole('button', { name: 'Let it in' }).click()
  await page.getByText('It is let in').waitFor()
  await page.getByLabel('Code').fill('WRNG-CODE')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('alert').waitFor()
}

await run(async ({ page }) => {
  await signIn(page)
  const secret = await key(page)
  for (const step of [volume, create, mounted, team, template, again, device, revoke]) {
    const from = Date.now()
    await step(page, secret)
    say(`${step.name}: ${Date.now() - from} ms`)
  }
})
