// SPDX-License-Identifier: GPL-2.0-or-later
// Script in every field that a tenant or a sandbox controls stays text: SANDBOX has it in metadata, names of
// files, arguments and output of processes and its terminal; VOLUME in its name and in names of files; the
// checkpoint and the keys in their names; TEMPLATE in its build log. MARK is in all. Of refused host names the
// service lets none through that is a script, and the page would show one as text.

import assert from 'node:assert/strict'
import { env, run, signIn, url } from './lib.mjs'

const sandbox = tab => `/sandboxes/${env.SANDBOX}${tab ? `/${tab}` : ''}`
const PAGES = [
  ['/sandboxes', true],
  [sandbox(''), true],
  [sandbox('files'), true],
  [sandbox('processes'), true],
  [sandbox('network'), true],
  [sandbox('ports'), false],
  [sandbox('metrics'), false],
  ['/volumes', true],
  [`/volumes/${env.VOLUME}`, true],
  ['/checkpoints', true],
  [`/templates/${env.TEMPLATE}`, true],
  ['/keys', true],
  ['/team', true],
  ['/account', true],
  ['/sign-in#error=login_failed&message=' + encodeURIComponent(env.SCRIPT), false],
]

async function shown(page, path, hasMark) {
  await page.goto(url(path))
  await page.locator('main h1').first().waitFor()
  if (hasMark) await page.locator('main').getByText(env.MARK).first().waitFor()
  else await page.waitForLoadState('networkidle').catch(() => {})
  const made = await page.evaluate(mark => {
    const own = element => [...element.attributes].some(one => /^on/.test(one.name) || /^\s*javascript:/i.test(one.value))
    return [...document.querySelectorAll('*')].filter(element => own(element) || (element.tagName === 'IMG' && element.src.includes(mark)))
      .map(element => element.outerHTML.slice(0, 200))
  }, env.MARK)
  assert.deepEqual(made, [], path)
  assert.equal(await page.evaluate(() => window.hacked), undefined, path)
}

/** As if a service that went wrong let one through. */
async function refusedNames(page) {
  const denials = '**/network/denials'
  const denial = { at: new Date().toISOString(), kind: 'name', target: env.SCRIPT, port: null, protocol: null, count: 1 }
  await page.route(denials, route => route.fulfill({ json: { denials: [denial] } }))
  await shown(page, sandbox('network'), true)
  await page.getByRole('region', { name: 'Denials' }).getByText(env.SCRIPT).first().waitFor()
  await page.unroute(denials)
}

async function terminal(page) {
  await page.goto(url(sandbox('terminal')))
  const screen = page.locator('.screen:visible .xterm-rows')
  await screen.getByText('$').first().waitFor()
  await page.locator('.screen:visible textarea').focus()
  // A title, a link and text, each a script.
  await page.keyboard.type(`printf '\\033]0;${env.SCRIPT}\\007\\033]8;;javascript:window.hacked=1\\007link-to-%s\\033]8;;\\007 ${env.SCRIPT}\\n' script\n`)
  await screen.getByText('link-to-script').last().waitFor()
  await screen.getByText('link-to-script').last().click({ force: true })
  assert.equal(await page.evaluate(() => window.hacked), undefined)
}

/** A foreign page puts the console into a frame, and asks as whoever is signed in: neither does anything. */
async function foreignPage(browser) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true })
  const page = await context.newPage()
  await signIn(page)
  const foreign = await context.newPage()
  await foreign.setContent(`<iframe src="${url('/sandboxes')}"></iframe>
    <form method="post" action="${url('/v1/logout')}" target="_blank"><button>Win</button></form>`)
  await foreign.waitForTimeout(1500)
  for (const frame of foreign.frames().filter(one => one !== foreign.mainFrame()))
    assert.equal(await frame.locator('#console').count().catch(() => 0), 0)
  for (const headers of [{}, { 'Sandlot-Console': '1' }]) {
    const answer = await foreign.evaluate(
      ([address, sent]) => fetch(address, { method: 'POST', credentials: 'include', headers: sent }).then(got => got.status, () => 'refused'),
      [url('/v1/logout'), headers],
    )
    assert.equal(answer, 'refused')
  }
  const opened = context.waitForEvent('page')
  await foreign.getByRole('button', { name: 'Win' }).click()
  await (await opened).waitForLoadState()
  await page.goto(url('/account'))
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  await context.close()
}

await run(async ({ page, browser }) => {
  await signIn(page)
  for (const [path, hasMark] of PAGES) await shown(page, path, hasMark)
  await refusedNames(page)
  await terminal(page)
  await foreignPage(browser)
})
