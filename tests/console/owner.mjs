// SPDX-License-Identifier: GPL-2.0-or-later
// An owner of TEAM revokes the key KEY of its member MEMBER, by keyboard alone, and looks at what the team
// has used by day and by sandbox: SANDBOX ran in it. Times are of the viewer's zone, the theme is the chosen one.

import assert from 'node:assert/strict'
import { env, newContext, run, signIn, url } from './lib.mjs'

/** Tab until the focus is on what has that name. */
async function tabTo(page, name) {
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press('Tab')
    const found = await page.evaluate(() => {
      const element = document.activeElement
      const seen = element && getComputedStyle(element).outlineStyle !== 'none'
      return [element?.getAttribute('aria-label') ?? element?.textContent ?? '', seen]
    })
    if (found[0].trim() === name) {
      assert.ok(found[1], `${name} shows no focus`)
      return
    }
  }
  assert.fail(`the keyboard does not reach ${name}`)
}

async function keys(page) {
  await page.goto(url('/team'))
  await page.getByLabel('Team', { exact: true }).selectOption(env.TEAM)
  const keys = page.getByRole('region', { name: 'Keys that reach this team' })
  const row = keys.getByRole('row', { name: new RegExp(`^${env.KEY} ${env.MEMBER}`) })
  await row.waitFor()
  await tabTo(page, `Revoke ${env.KEY} of ${env.MEMBER}`)
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('Enter') // The focus is where it was.
  await page.getByRole('dialog').getByText(`It reaches nothing of ${env.TEAM}`).waitFor()
  await tabTo(page, 'Revoke')
  await page.keyboard.press('Enter')
  await page.getByText(`The key no longer reaches ${env.TEAM}.`).waitFor()
  await row.waitFor({ state: 'detached' })
}

async function usage(page) {
  await page.goto(url('/usage'))
  const days = page.getByRole('group', { name: 'By day' })
  await days.locator('tbody tr').first().waitFor()
  const today = new Date().toISOString().slice(0, 10)
  await days.locator(`time[datetime="${today}"]`).waitFor()
  await page.getByLabel('Parts by').selectOption('sandbox')
  const sandboxes = page.getByRole('group', { name: 'By sandbox' })
  await sandboxes.getByRole('link', { name: env.SANDBOX }).waitFor()
  assert.match(await sandboxes.locator('tbody tr').first().innerText(), /[$€£]|[A-Z]{3}/)
}

/** Times are the viewer's, in zone and words. */
async function times(browser) {
  const timeZone = 'Asia/Kathmandu'
  const page = await (await newContext(browser, { timezoneId: timeZone, locale: 'en-GB' })).newPage()
  await signIn(page)
  await page.goto(url(`/sandboxes/${env.SANDBOX}`))
  const time = page.locator('dd time').first()
  await time.waitFor()
  const at = new Date(await time.getAttribute('datetime'))
  const format = new Intl.DateTimeFormat('en-GB', { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit', timeZone })
  assert.equal(await time.innerText(), format.format(at))
  await page.context().close()
}

/** The theme that was chosen is there before anything is drawn, whatever the system's is. */
async function theme(browser) {
  const context = await newContext(browser, { colorScheme: 'light' })
  await context.addInitScript(() => {
    new MutationObserver((_, watcher) => {
      if (!document.body) return
      window.themeAtBody = document.documentElement.dataset.theme
      watcher.disconnect()
    }).observe(document, { childList: true, subtree: true })
  })
  const page = await context.newPage()
  await signIn(page)
  const shown = async () => {
    await page.goto(url('/keys'))
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    return page.evaluate(() => [window.themeAtBody, getComputedStyle(document.documentElement).backgroundColor])
  }
  const light = await shown()
  assert.equal(light[0], 'light')
  const other = await context.newPage()
  await other.goto(url('/keys'))
  await page.getByLabel('Theme').selectOption('dark')
  // The other tab follows.
  await other.waitForFunction(() => document.documentElement.dataset.theme === 'dark')
  const dark = await shown()
  assert.equal(dark[0], 'dark')
  assert.notEqual(dark[1], light[1])
  await page.getByLabel('Theme').selectOption('system')
  await page.emulateMedia({ colorScheme: 'dark' })
  assert.equal((await shown())[0], 'dark')
  await context.close()
}

await run(async ({ page, browser }) => {
  await signIn(page)
  await keys(page)
  await usage(page)
  await times(browser)
  await theme(browser)
})
