// SPDX-License-Identifier: GPL-2.0-or-later
// Ctrl+K finds sandboxes by name, id and metadata, checkpoints, templates and commands, by keyboard alone; with
// the button too. In a terminal the keys stay the shell's. SANDBOX has the name NAME and the metadata lane=LANE.

import assert from 'node:assert/strict'
import { axe, env, run, say, signIn, url } from './lib.mjs'

const box = page => page.getByRole('dialog').getByRole('combobox')
const options = page => page.getByRole('dialog').getByRole('option')

async function find(page, text, group) {
  await page.getByRole('button', { name: 'Search Ctrl K' }).waitFor()
  await page.keyboard.press('Control+k')
  await box(page).fill(text)
  await page.getByRole('group', { name: group, exact: true }).getByRole('option').first().waitFor()
}

async function sandboxes(page) {
  await page.goto(url('/team'))
  for (const text of [env.NAME, env.SANDBOX, `lane=${env.LANE}`]) {
    await find(page, text, 'Sandboxes')
    await options(page).filter({ hasText: env.NAME }).first().waitFor()
    if (text === env.NAME) assert.deepEqual(await axe(page), [])
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`/sandboxes/${env.SANDBOX}$`))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.goto(url('/team'))
  }
}

async function checkpoints(page) {
  await find(page, 'before-search', 'Checkpoints')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/sandboxes\/new\?from=ckp_/)
}

async function templates(page) {
  await find(page, env.TEMPLATE, 'Templates')
  await page.getByRole('group', { name: 'Templates' }).getByRole('option').first().click()
  await page.waitForURL(new RegExp(`/templates/${env.TEMPLATE}$`))
}

/** The second of two, by an arrow key. */
async function commands(page) {
  await page.getByRole('button', { name: 'Search Ctrl K' }).click()
  await box(page).fill('theme:')
  await page.waitForFunction(() => document.querySelectorAll('dialog [role=option]').length === 3)
  for (const key of ['ArrowDown', 'ArrowUp', 'ArrowUp', 'Enter']) await page.keyboard.press(key)
  await page.locator('html[data-theme=dark]').waitFor()
  await find(page, 'usage', 'Commands')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/usage$/)
  await find(page, '', 'Commands')
  await box(page).fill('nothing of this name')
  await page.getByText('Nothing is found.').waitFor()
  await page.keyboard.press('Escape')
  await box(page).waitFor({ state: 'detached' })
}

async function terminal(page) {
  await page.goto(url(`/sandboxes/${env.SANDBOX}/terminal`))
  const rows = page.locator('.xterm-rows')
  await rows.getByText('$').first().waitFor()
  await page.locator('.screen').click()
  await page.keyboard.type('true gone')
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('echo st""ays')
  await page.keyboard.press('Enter')
  await rows.getByText('stays').waitFor()
  assert.equal(await box(page).count(), 0)
}

await run(async ({ page }) => {
  await signIn(page)
  for (const step of [sandboxes, checkpoints, templates, commands, terminal]) {
    await step(page)
    say(step.name)
  }
})
