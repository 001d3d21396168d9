// SPDX-License-Identifier: GPL-2.0-or-later
// A secret of TEAM: stored, given a new value and other hosts, and deleted. Its value is in no page and in no
// answer afterwards. Wrong hosts are refused where they were written. The policy of SANDBOX keeps its rules when
// another part of it is changed.

import assert from 'node:assert/strict'
import { axe, env, run, say, signIn, url } from './lib.mjs'

const VALUES = ['sk-first-0123456789', 'sk-second-0123456789']

const dialog = page => page.getByRole('dialog')
const cell = (page, column) => page.getByRole('row', { name: /^openai/ }).getByRole('cell').nth(column)

async function stored(page) {
  await page.goto(url('/secrets'))
  await page.getByRole('heading', { name: 'No secrets yet' }).waitFor()
  await page.getByRole('button', { name: 'New secret' }).click()
  await dialog(page).getByLabel('Name').fill('openai')
  await dialog(page).getByLabel('Value').fill(VALUES[0])
  await dialog(page).getByLabel('Hosts').fill('not a host, surely')
  await dialog(page).getByRole('button', { name: 'Create' }).click()
  await dialog(page).getByRole('alert').waitFor()
  assert.deepEqual(await axe(page), [])
  await dialog(page).getByLabel('Hosts').fill('api.openai.com\n*.example.com')
  await dialog(page).getByRole('button', { name: 'Create' }).click()
  await page.getByText('The secret openai is stored.').waitFor()
  assert.equal(await cell(page, 0).innerText(), 'api.openai.com\n*.example.com')
  assert.deepEqual([await cell(page, 1).innerText(), await cell(page, 3).innerText()], ['1', 'never'])
}

async function changed(page) {
  await page.getByRole('button', { name: 'New value of openai' }).click()
  await dialog(page).getByLabel('Value').fill(VALUES[1])
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await page.waitForFunction(() => document.querySelector('tbody td.number')?.textContent === '2')
  await page.getByRole('button', { name: 'Hosts of openai' }).click()
  const hosts = dialog(page).getByLabel('Hosts')
  assert.equal(await hosts.inputValue(), 'api.openai.com\n*.example.com')
  await hosts.fill('api.openai.com')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await page.waitForFunction(() => document.querySelector('tbody td.number')?.textContent === '3')
  assert.equal(await cell(page, 0).innerText(), 'api.openai.com')
}

async function hidden(page, answers) {
  await page.reload()
  await page.getByRole('row', { name: /^openai/ }).waitFor()
  assert.deepEqual(await axe(page), [])
  const seen = [await page.content(), ...answers].join('\n')
  assert.deepEqual(VALUES.filter(value => seen.includes(value)), [])
  assert.ok(answers.length > 3, 'no answer was looked at')
}

async function kept(page) {
  await page.goto(url(`/sandboxes/${env.SANDBOX}/network`))
  await page.getByRole('textbox', { name: 'Allow' }).fill('203.0.113.9')
  const [answer] = await Promise.all([
    page.waitForResponse(one => one.request().method() === 'PUT' && one.url().endsWith('/network')),
    page.getByRole('button', { name: 'Save the policy' }).click(),
  ])
  const { allow_out: allow, rules } = await answer.json()
  assert.deepEqual([allow, rules?.[0]?.host], [['203.0.113.9'], 'api.openai.com'])
  await page.goto(url('/secrets'))
}

async function deleted(page) {
  await page.getByRole('button', { name: 'Delete openai' }).click()
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'No secrets yet' }).waitFor()
}

await run(async ({ page }) => {
  const answers = []
  page.on('response', async answer => {
    if (answer.url().includes('/v1/secrets')) answers.push(await answer.text().catch(() => ''))
  })
  await signIn(page)
  for (const step of [stored, changed, hidden, kept, deleted]) {
    await step(page, answers)
    say(step.name)
  }
})
