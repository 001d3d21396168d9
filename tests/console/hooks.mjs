// SPDX-License-Identifier: GPL-2.0-or-later
// A webhook to RECEIVER, tested, with a new secret, switched off and deleted; and the SSH key PUBLIC_KEY, added
// and revoked.

import assert from 'node:assert/strict'
import { axe, env, run, say, signIn, url } from './lib.mjs'

const dialog = page => page.getByRole('dialog')

async function kept(page) {
  const secret = await page.locator('[data-secret=webhook]').innerText()
  assert.match(secret, /^whsec_/)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await dialog(page).waitFor({ state: 'detached' })
  return secret
}

async function webhook(page) {
  await page.goto(url('/webhooks'))
  await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
  await page.getByRole('button', { name: 'New webhook' }).click()
  await dialog(page).getByLabel('Address').fill('no address')
  await dialog(page).getByRole('button', { name: 'Create' }).click()
  await dialog(page).getByRole('alert').waitFor()
  await dialog(page).getByLabel('Address').fill(env.RECEIVER)
  await dialog(page).getByLabel('Kinds of events').fill('sandbox.died')
  await dialog(page).getByRole('button', { name: 'Create' }).click()
  const first = await kept(page)
  const row = page.getByRole('row').filter({ hasText: env.RECEIVER })
  await row.getByText('sandbox.died').waitFor()
  await row.getByRole('button', { name: /^Send a test/ }).click()
  await page.getByText('The test was delivered.').waitFor()
  await row.getByRole('button', { name: /^New secret/ }).click()
  await dialog(page).getByRole('button', { name: 'Make it' }).click()
  assert.notEqual(await kept(page), first)
  const enabled = row.getByRole('checkbox')
  await enabled.uncheck()
  await page.reload()
  await row.waitFor()
  assert.equal(await enabled.isChecked(), false)
  assert.deepEqual(await axe(page), [])
  await row.getByRole('button', { name: /^Delete/ }).click()
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
}

async function sshKey(page) {
  await page.goto(url('/keys'))
  const card = page.getByRole('region', { name: 'SSH keys' })
  await card.getByRole('button', { name: 'New SSH key' }).click()
  await dialog(page).getByLabel('Public key').fill(env.PUBLIC_KEY)
  await dialog(page).getByLabel('Name').fill('laptop')
  await dialog(page).getByRole('button', { name: 'Add' }).click()
  await card.getByRole('row', { name: /^laptop SHA256:/ }).waitFor()
  assert.deepEqual(await axe(page), [])
  await card.getByRole('button', { name: 'Revoke laptop' }).click()
  await dialog(page).getByRole('button', { name: 'Revoke' }).click()
  await card.getByText('None. With one').waitFor()
}

await run(async ({ page }) => {
  await signIn(page)
  for (const step of [webhook, sshKey]) {
    await step(page)
    say(step.name)
  }
})
