// SPDX-License-Identifier: GPL-2.0-or-later
// From the overview of SANDBOX: ways to connect, of which the lines for curl run in a shell with KEY; its logs,
// searched, downloaded, and live; what it uses; and a fork of it. SSH_HOST and SSH_PORT are the deployment's.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import fs from 'node:fs/promises'
import { promisify } from 'node:util'
import { axe, env, run, say, signIn, url } from './lib.mjs'

const output = page => page.getByLabel('Output', { exact: true })

async function curl(page) {
  const { stdout } = await promisify(execFile)('sh', ['-c', await page.getByRole('region', { name: 'Connect' }).locator('pre').innerText()], {
    env: { PATH: env.PATH, SANDLOT_KEY: env.KEY, CURL_CA_BUNDLE: env.CA_FILE },
  })
  return stdout
}

async function connect(page) {
  await page.goto(url(`/sandboxes/${env.SANDBOX}`))
  const card = page.getByRole('region', { name: 'Connect' })
  const way = card.getByLabel('With')
  await way.waitFor()
  assert.deepEqual(await way.locator('option').allInnerTexts(), ['Command line', 'SSH', 'PHP', 'Python', 'JavaScript', 'curl'])
  for (const [name, words] of [
    ['Command line', 'sandlot shell work'],
    ['SSH', `ssh -p ${env.SSH_PORT} work@${env.SSH_HOST}`],
    ['PHP', env.SANDBOX],
    ['Python', env.SANDBOX],
    ['JavaScript', env.SANDBOX],
    ['curl', '/exec'],
  ]) {
    await way.selectOption({ label: name })
    await card.locator('pre').getByText(words).waitFor()
  }
  assert.match(JSON.parse(await curl(page)).stdout, /Linux/)
}

/** A line of CPU, what is used now in words and in the list, and a way to a terminal. */
async function life(page) {
  const card = page.getByRole('region', { name: 'Use' })
  await card.getByText(/^[\d.]+ of 1 vCPU, [\d.]+ \w+ of 512 MiB$/).waitFor({ timeout: 180_000 })
  await page.waitForFunction(() => document.querySelector('.line polyline').getAttribute('points').includes(' '), null, { timeout: 180_000 })
  await page.goto(url('/sandboxes'))
  const row = page.getByRole('row', { name: /work/ })
  await row.getByText(/^[\d.]+ of 1$/).waitFor()
  await row.getByText(/^\d+ of 512 MiB$/).waitFor()
  assert.deepEqual(await axe(page), [])
  await page.getByRole('link', { name: 'work', exact: true }).click()
  await card.getByRole('link', { name: 'Open a terminal' }).click()
  await page.locator('.screen:visible .xterm-rows').getByText('$').first().waitFor()
}

async function logs(page) {
  await page.getByRole('link', { name: 'Logs', exact: true }).click()
  await output(page).getByText('first line').waitFor()
  await output(page).locator('.stderr').getByText('a warning').waitFor()
  assert.deepEqual(await axe(page), [])
  // What is written now comes by itself.
  await page.evaluate(async ([id, sandbox]) => {
    const headers = { 'Sandlot-Console': '1', 'Content-Type': 'application/json' }
    const answer = await fetch(`/v1/sandboxes/${id}/sessions`, { method: 'POST', headers, body: '{}' })
    const { session } = await answer.json()
    await fetch(`${session.data_plane_url}/exec`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Access-Token': session.access_token },
      body: JSON.stringify({ cmd: sandbox }),
    })
  }, [env.SANDBOX, 'echo later line'])
  await output(page).getByText('later line').waitFor()
  await page.getByLabel('Search', { exact: true }).fill('LATER')
  await output(page).getByText('first line').waitFor({ state: 'detached' })
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()])
  assert.equal(await fs.readFile(await download.path(), 'utf8'), 'later line\n')
  assert.equal(download.suggestedFilename(), 'work.log')
  await page.getByLabel('Search', { exact: true }).fill('of no entry')
  await page.getByText('No entry matches.').waitFor()
}

async function fork(page) {
  await page.locator('.page-head').getByRole('button', { name: 'Fork' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('work')
  await dialog.getByRole('button', { name: 'Fork' }).click()
  await dialog.getByRole('alert').waitFor()
  await dialog.getByLabel('Name').fill('copy')
  await dialog.getByRole('button', { name: 'Fork' }).click()
  await page.getByRole('heading', { name: /^copy/, level: 1 }).waitFor()
  assert.ok(!page.url().includes(env.SANDBOX))
  await page.locator('.status[data-state=ready]').waitFor()
}

await run(async ({ page }) => {
  await signIn(page)
  for (const step of [connect, life, logs, fork]) {
    await step(page)
    say(step.name)
  }
})
