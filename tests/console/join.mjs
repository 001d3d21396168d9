// SPDX-License-Identifier: GPL-2.0-or-later
// An owner makes a link into the team; somebody with a user and somebody without one join by it.
// USER_NAME owns TEAM; MATE has a user; NEWCOMER has none yet.

import assert from 'node:assert/strict'
import { axe, env, newContext, run, say, signIn, url } from './lib.mjs'

const dialogOf = page => page.getByRole('dialog')
const NARROW = { width: 390, height: 844 }

async function chooseTeam(page) {
  await page.goto(url('/team'))
  await page.getByLabel('Team', { exact: true }).selectOption(env.TEAM)
  await page.getByRole('heading', { name: `Team ${env.TEAM}` }).waitFor()
}

async function makeLink(page) {
  await signIn(page)
  await chooseTeam(page)
  await page.getByRole('button', { name: 'Invite by a link' }).click()
  const dialog = dialogOf(page)
  assert.deepEqual(await dialog.getByLabel('Role').locator('option').evaluateAll(all => all.map(one => one.value)), ['member', 'viewer'])
  await dialog.getByLabel('Role').selectOption('viewer')
  await dialog.getByLabel('People').fill('2')
  await dialog.getByRole('button', { name: 'Create' }).click()
  const link = await page.locator('[data-secret=link]').innerText()
  assert.ok(link.startsWith(url('/join#lnk_')), link)
  assert.deepEqual(await axe(page), [])
  await dialog.getByRole('button', { name: 'I have stored it' }).click()
  await page.getByRole('region', { name: 'Links' }).getByRole('row', { name: /lnk_\w+ viewer 2 / }).waitFor()
  return link
}

/** Signed out at first: the link is still there after the sign-in. */
async function mate(page, link) {
  await page.goto(link)
  await page.getByText(env.TEAM).first().waitFor()
  assert.equal(await page.evaluate(() => location.hash), '')
  assert.deepEqual(await axe(page), [])
  await page.getByRole('link', { name: 'Sign in to join' }).click()
  await page.getByLabel('Name').fill(env.MATE)
  await page.getByLabel('Password').fill(env.MATE_PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText(`You are signed in as ${env.MATE}`).waitFor()
  await page.getByRole('button', { name: `Join ${env.TEAM}` }).click()
  await page.getByText(`You are a viewer of ${env.TEAM}`).waitFor()
  await page.goto(link)
  await page.getByRole('button', { name: `Join ${env.TEAM}` }).click()
  await page.getByRole('alert').getByText('is a member of the team already').waitFor()
}

async function newcomer(page, link) {
  await page.goto(link)
  const create = page.getByRole('button', { name: `Create the user and join ${env.TEAM}` })
  await page.getByLabel('Name').fill(env.MATE)
  await page.getByLabel('Password').fill('correct horse battery')
  await page.getByLabel('The same again').fill('correct horse battery')
  await create.click()
  await page.getByRole('alert').getByText('is taken').waitFor()
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth))
  assert.deepEqual(await axe(page), [])
  await page.getByLabel('Name').fill(env.NEWCOMER)
  await create.click()
  await page.getByText(`You are a viewer of ${env.TEAM}`).waitFor()
}

async function revoke(page) {
  await page.getByRole('region', { name: 'Links' }).waitFor({ state: 'detached' })
  for (const name of [env.MATE, env.NEWCOMER]) await page.getByLabel(`Role of ${name}`).waitFor()
  await page.getByRole('button', { name: 'Invite by a link' }).click()
  await dialogOf(page).getByRole('button', { name: 'Create' }).click()
  const link = await page.locator('[data-secret=link]').innerText()
  await dialogOf(page).getByRole('button', { name: 'I have stored it' }).click()
  await page.setViewportSize(NARROW)
  const button = page.getByRole('button', { name: /^Revoke the link lnk_/ })
  await button.click()
  await dialogOf(page).getByRole('button', { name: 'Revoke' }).click()
  await button.waitFor({ state: 'detached' })
  await page.goto(link)
  await page.getByRole('alert').getByText('revoked').waitFor()
}

await run(async ({ browser, page }) => {
  const link = await makeLink(page)
  const [one, other] = [await newContext(browser), await newContext(browser, { viewport: NARROW })]
  const steps = { mate: async () => mate(await one.newPage(), link), newcomer: async () => newcomer(await other.newPage(), link), revoke: () => revoke(page) }
  for (const [name, step] of Object.entries(steps)) {
    const from = Date.now()
    await step()
    say(`${name}: ${Date.now() - from} ms`)
  }
})
