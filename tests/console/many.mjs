// SPDX-License-Identifier: GPL-2.0-or-later
// A team with a thousand sandboxes, one in five of them with the metadata lane=3: the list loads them as
// one scrolls, keeps their order, filters, and outlasts a service that is away.

import assert from 'node:assert/strict'
import { run, signIn, url } from './lib.mjs'

const count = page => page.locator('.filters .count')

async function scrollUntil(page, text) {
  await page.waitForFunction(wanted => {
    window.scrollTo(0, document.body.scrollHeight)
    return document.querySelector('.filters .count')?.textContent === wanted
  }, text, { polling: 100 })
}

await run(async ({ page, context }) => {
  await signIn(page)
  await page.goto(url('/sandboxes'))
  await count(page).getByText(/and more/).waitFor()
  await scrollUntil(page, '1,000 sandboxes')
  const ids = await page.locator('tbody th').allInnerTexts()
  assert.equal(new Set(ids).size, 1000)
  assert.deepEqual(ids, [...ids].sort().reverse())
  await page.getByLabel('Metadata').fill('lane=3')
  await count(page).getByText(/^\d+ sandboxes/).waitFor()
  await scrollUntil(page, '200 sandboxes')
  await page.getByLabel('Metadata').fill('lane=3 none=such')
  await page.getByRole('heading', { name: 'No sandbox matches' }).waitFor()
  // Nothing answers for a while: what was there stays, the page says so, and goes on by itself.
  await page.getByLabel('Metadata').fill('')
  await count(page).getByText(/and more/).waitFor()
  await context.setOffline(true)
  await page.getByText('The service cannot be reached.').waitFor()
  assert.ok((await page.locator('tbody th').count()) >= 100)
  await context.setOffline(false)
  await page.getByText('The service cannot be reached.').waitFor({ state: 'detached' })
})
