// SPDX-License-Identifier: GPL-2.0-or-later
// The API is away and comes back while a page is open: what was there stays, the page says what is wrong,
// an action is refused with its dialog open, and all goes on by itself afterwards. SANDBOX is there.

import assert from 'node:assert/strict'
import { env, run, signIn, url } from './lib.mjs'

await run(async ({ page, context }) => {
  await signIn(page)
  await page.goto(url('/sandboxes'))
  const row = page.getByRole('link', { name: env.SANDBOX })
  await row.waitFor()
  await page.goto(url('/keys'))
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('made later')
  await context.setOffline(true)
  await page.getByRole('button', { name: 'Create' }).click()
  const refusal = page.getByRole('dialog').getByRole('alert')
  await refusal.waitFor()
  assert.match(await refusal.innerText(), /reach/i)
  assert.doesNotMatch(await refusal.innerText(), /by itself/)
  assert.equal(await page.getByRole('dialog').getByLabel('Name').inputValue(), 'made later')
  await context.setOffline(false)
  await page.getByRole('button', { name: 'Create' }).click()
  // What is shown once stays until it was stored.
  await page.locator('[data-secret=key]').waitFor()
  for (let presses = 0; presses < 3; presses++) await page.keyboard.press('Escape')
  assert.equal(await page.locator('[data-secret=key]').count(), 1)
  await page.getByRole('button', { name: 'I have stored it' }).click()
  assert.equal(await page.getByRole('row', { name: /made later/ }).count(), 1)

  await page.getByRole('link', { name: 'Sandboxes', exact: true }).click()
  await row.waitFor()
  await context.setOffline(true)
  await page.getByRole('alert').getByText('tries again by itself').first().waitFor()
  assert.equal(await row.count(), 1)
  await context.setOffline(false)
  await page.getByRole('alert').first().waitFor({ state: 'detached' })
  await row.waitFor()

  // A part whose script does not come is there when the network is.
  await context.setOffline(true)
  await page.getByRole('link', { name: 'Volumes', exact: true }).click()
  await page.getByText('This part of the console could not be loaded').waitFor()
  await context.setOffline(false)
  await page.getByRole('heading', { name: 'Volumes', exact: true }).waitFor()

  // A page that is opened meanwhile says so too, and can be tried again.
  await page.route('**/v1/**', route => route.abort())
  await page.goto(url('/usage'))
  await page.getByRole('alert').waitFor()
  await page.unroute('**/v1/**')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { name: 'Usage and limits' }).waitFor()
})
