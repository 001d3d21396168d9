// SPDX-License-Identifier: GPL-2.0-or-later
// Three sandboxes in the list: two are chosen, paused, resumed and deleted together, the third stays. 25 rows
// have room on a screen.

import assert from 'node:assert/strict'
import { axe, run, say, signIn, url } from './lib.mjs'

const table = page => page.getByRole('group', { name: 'Sandboxes', exact: true })
const chosen = page => page.getByRole('group', { name: 'Chosen sandboxes' })

async function act(page, words) {
  await chosen(page).getByRole('button', { name: `${words} 2` }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('one, two').or(dialog.getByText('two, one')).waitFor()
  await dialog.getByRole('button', { name: words }).click()
  await dialog.waitFor({ state: 'detached' })
}

const names = page => table(page).locator('tbody th a').filter({ hasText: /^(one|two|three)$/ }).allInnerTexts()

/** By a column's head, from both ends; on a narrow screen, which has no heads, by a list. */
async function sort(page) {
  const head = table(page).getByRole('button', { name: 'Sandbox' })
  await head.click()
  await table(page).locator('th[aria-sort=ascending]').waitFor()
  assert.deepEqual(await names(page), ['one', 'three', 'two'])
  await head.click()
  await table(page).locator('th[aria-sort=descending]').waitFor()
  assert.deepEqual(await names(page), ['two', 'three', 'one'])
  await page.setViewportSize({ width: 390, height: 844 })
  await page.getByLabel('Sort').selectOption('name')
  await page.waitForURL(/sort=name/)
  assert.deepEqual(await names(page), ['one', 'three', 'two'])
  assert.deepEqual(await axe(page), [])
  await page.getByLabel('Sort').selectOption('-created')
  await page.setViewportSize({ width: 1280, height: 860 })
}

async function choose(page) {
  for (const name of ['one', 'two']) await page.getByLabel(`Choose ${name}`).check()
  await chosen(page).getByText('2 sandboxes chosen').waitFor()
}

await run(async ({ page }) => {
  await signIn(page)
  await page.goto(url('/sandboxes'))
  await table(page).getByRole('row', { name: /three/ }).waitFor()
  const { height } = await table(page).getByRole('row').nth(1).evaluate(row => row.getBoundingClientRect())
  assert.ok(25 * height <= 860, `a row is ${height} pixels high`)
  await sort(page)
  await choose(page)
  assert.deepEqual(await axe(page), [])
  assert.equal(await chosen(page).getByRole('button', { name: /^Resume/ }).count(), 0)
  await act(page, 'Pause')
  await page.waitForFunction(() => document.body.innerText.match(/\bpaused\b/g)?.length === 2)
  say('paused')
  await choose(page)
  await act(page, 'Resume')
  await page.waitForFunction(() => document.body.innerText.match(/\brunning\b/g)?.length === 3)
  say('resumed')
  await page.getByLabel('Choose all').check()
  await chosen(page).getByText('3 sandboxes chosen').waitFor()
  await page.getByLabel('Choose three').uncheck()
  await act(page, 'Delete')
  await page.waitForFunction(() => document.querySelectorAll('main tbody tr').length === 1)
  await table(page).getByRole('row', { name: /three/ }).waitFor()
})
