// SPDX-License-Identifier: GPL-2.0-or-later
// Names: given at a create, first in the list, the title, dialogs, usage and checkpoints, changed, refused,
// found; and the one word for each state.

import assert from 'node:assert/strict'
import { env, run, say, signIn, url } from './lib.mjs'

const table = (page, name) => page.getByRole('group', { name })
const dialog = page => page.getByRole('dialog')
const action = (page, name) => page.locator('.page-head').getByRole('button', { name, exact: true })

async function create(page, name) {
  await page.goto(url('/sandboxes/new'))
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByLabel('When it is over').selectOption('pause')
  await page.locator('aside pre').getByText(`"name": "${name}"`).waitFor()
  await page.getByRole('button', { name: 'Create the sandbox' }).click()
}

async function made(page) {
  await create(page, 'first')
  await page.getByRole('heading', { name: /^first/, level: 1 }).waitFor()
  assert.equal(await page.title(), 'Overview of first – sandlot')
  await page.locator('.page-head').getByText(/^sbx_/).waitFor()
  // A second one of the name is refused at its field.
  await create(page, 'first')
  const field = page.locator('.field-error').getByText('has a sandbox of the name first')
  await field.waitFor()
  await page.waitForFunction(() => document.querySelector('[aria-invalid=true]') === document.activeElement)
  const { top, bottom } = await field.evaluate(element => element.getBoundingClientRect())
  assert.ok(top >= 0 && bottom <= 860, `the refusal is at ${top}`)
  // What names no field of its own is said at the button.
  await page.getByLabel('Name', { exact: true }).fill('third')
  await page.getByRole('button', { name: 'Add a port' }).click()
  await page.getByLabel('Port 1', { exact: true }).fill('49983')
  await page.getByRole('button', { name: 'Create the sandbox' }).click()
  const summary = page.locator('form [role=alert]')
  await summary.waitFor()
  await page.waitForFunction(() => {
    const { top, bottom } = document.querySelector('form [role=alert]').getBoundingClientRect()
    return top >= 0 && bottom <= innerHeight
  })
}

async function renamed(page) {
  await page.goto(url('/sandboxes'))
  await page.getByRole('link', { name: 'first', exact: true }).click()
  await action(page, 'Rename').click()
  await dialog(page).getByRole('heading', { name: 'Rename first' }).waitFor()
  await dialog(page).getByLabel('Name').fill('new')
  await dialog(page).getByRole('button', { name: 'Rename' }).click()
  await dialog(page).getByText(/^A sandbox's name is/).waitFor()
  await dialog(page).getByLabel('Name').fill('second')
  await dialog(page).getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('heading', { name: /^second/, level: 1 }).waitFor()
  assert.equal(await page.title(), 'Overview of second – sandlot')
}

async function extended(page) {
  const left = () => page.locator('.page-head .status time').getAttribute('datetime')
  const before = await left()
  await action(page, 'Extend').click()
  await dialog(page).getByLabel('Seconds from now').fill('1')
  const answered = page.waitForResponse(answer => answer.url().endsWith('/connect'))
  await dialog(page).getByRole('button', { name: 'Extend' }).click()
  await answered
  await dialog(page).waitFor({ state: 'detached' })
  assert.equal(await left(), before)
}

async function checkpointed(page) {
  await action(page, 'Checkpoint').click()
  await dialog(page).getByRole('heading', { name: 'New checkpoint of second' }).waitFor()
  await dialog(page).getByLabel('Name').fill('kept')
  await dialog(page).getByRole('button', { name: 'Create' }).click()
  await page.getByText('Checkpoint kept is made.').waitFor()
  await page.goto(url('/checkpoints'))
  await table(page, 'Checkpoints').getByRole('link', { name: 'second', exact: true }).click()
  await page.getByRole('heading', { name: /^second/, level: 1 }).waitFor()
}

async function listed(page) {
  await page.goto(url('/sandboxes'))
  const head = table(page, 'Sandboxes').getByRole('rowheader')
  await head.first().waitFor()
  assert.match(await head.first().innerText(), /^second\s+sbx_/)
  const box = page.getByLabel('Name or metadata')
  await box.fill('third')
  await page.getByRole('heading', { name: 'No sandbox matches' }).waitFor()
  await box.fill('sec')
  await head.first().waitFor()
  await page.waitForURL(/find=sec/)
}

async function states(page) {
  await page.getByRole('link', { name: 'second', exact: true }).click()
  await action(page, 'Pause').click()
  await page.locator('.status').getByText('paused', { exact: true }).waitFor()
  await page.goto(url('/sandboxes'))
  await table(page, 'Sandboxes').getByText('paused', { exact: true }).waitFor()
  const select = page.getByLabel(/^State/)
  assert.deepEqual(await select.locator('option').allInnerTexts(),
    ['Any state', 'Creating', 'Running', 'Resuming', 'Checkpointing', 'Pausing', 'Paused', 'Copying'])
  await select.selectOption('Running')
  await page.getByRole('heading', { name: 'No sandbox matches' }).waitFor()
  await select.selectOption('Paused')
  await page.getByRole('link', { name: 'second', exact: true }).waitFor()
}

async function used(page) {
  await page.goto(url('/usage'))
  await page.getByLabel('Parts by').selectOption('sandbox')
  const row = table(page, 'By sandbox').getByRole('rowheader', { name: /^second sbx_/ })
  await row.waitFor()
  await row.getByRole('link', { name: 'second', exact: true }).click()
}

async function removed(page) {
  await action(page, 'Delete').click()
  await dialog(page).getByRole('heading', { name: 'Delete the sandbox second?' }).waitFor()
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await page.getByText('The sandbox second is deleted.').waitFor()
  await create(page, 'second')
  await page.getByRole('heading', { name: /^second/, level: 1 }).waitFor()
}

await run(async ({ page }) => {
  if (env.PASSWORD) await signIn(page)
  for (const step of [made, renamed, extended, checkpointed, listed, states, used, removed]) {
    await step(page)
    say(step.name)
  }
})
