// SPDX-License-Identifier: GPL-2.0-or-later
// Sign-in through the provider PROVIDER_HOST, as PERSON, who becomes WHO here; back to where they wanted to go.

import assert from 'node:assert/strict'
import { env, newContext, run, url } from './lib.mjs'

async function throughTheProvider(page, person) {
  await page.getByRole('link', { name: 'Sign in with The works' }).click()
  await page.locator('input[name=login]').fill(person)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  await page.locator('button[type=submit]').click() // It asks whether the client may.
}

await run(async ({ browser, page }) => {
  await page.goto(url('/volumes'))
  await throughTheProvider(page, env.PERSON)
  await page.getByRole('heading', { name: 'Volumes', exact: true }).waitFor()
  await page.getByRole('link', { name: env.WHO, exact: true }).waitFor()
  assert.equal(await page.evaluate(() => document.cookie), '')
  assert.equal(new URL(page.url()).hash, '')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('link', { name: 'Sign in with The works' }).waitFor()

  // Somebody whose name is taken is told so, in a browser of their own.
  const other = await (await newContext(browser)).newPage()
  await other.goto(url('/sandboxes'))
  await throughTheProvider(other, env.NAMESAKE)
  await other.getByRole('alert').waitFor()
  await other.getByRole('heading', { name: 'Sign in to sandlot' }).waitFor()
})
