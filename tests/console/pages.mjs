// SPDX-License-Identifier: GPL-2.0-or-later
// Every page as axe sees it, in both themes: labels, contrast, order of headings, names of what can be
// pressed. Nothing of it jumps while it loads, and none is wider than a phone. SANDBOX, VOLUME and TEMPLATE
// are there, with a checkpoint and files; the user is an operator. With SHOTS=FOLDER it also leaves a
// picture of each page in both themes, wide and as on a phone.

import assert from 'node:assert/strict'
import { axe, env, jumped, run, signIn, url } from './lib.mjs'

const PAGES = [
  ['/sandboxes', 'table'],
  ['/sandboxes/new', 'form'],
  [`/sandboxes/${env.SANDBOX}`, 'dl'],
  [`/sandboxes/${env.SANDBOX}/files`, 'table'],
  [`/sandboxes/${env.SANDBOX}/processes`, 'table >> nth=0'],
  [`/sandboxes/${env.SANDBOX}/ports`, 'table'],
  [`/sandboxes/${env.SANDBOX}/network`, 'form'],
  [`/sandboxes/${env.SANDBOX}/metrics`, '.chart canvas >> nth=0'],
  [`/sandboxes/${env.SANDBOX}/logs`, '.filters'],
  [`/sandboxes/${env.SANDBOX}/terminal`, '.xterm-rows'],
  ['/templates', 'table'],
  [`/templates/${env.TEMPLATE}`, 'pre'],
  ['/checkpoints', 'table'],
  ['/volumes', 'table'],
  [`/volumes/${env.VOLUME}`, 'table'],
  ['/secrets', '.page-head'],
  ['/webhooks', '.page-head'],
  ['/keys', '.page-head'],
  ['/team', '.page-head'],
  ['/usage', 'meter >> nth=0'],
  ['/operator', 'table'],
  ['/operator/sandboxes', 'table'],
  ['/operator/teams', 'table'],
  ['/operator/users', 'table'],
  ['/operator/plans', 'table'],
  ['/operator/doctor', 'table'],
  ['/operator/activity', '.filters'],
  ['/account', 'form'],
  ['/device', 'form'],
  ['/nowhere', 'h1'],
]

const WIDE = { width: 1280, height: 860 }
const PHONE = { width: 390, height: 800 }
// Google calls up to 0.1 good; what is beside a page's own content moves none of it here.
const JUMPS_MAX = 0.02

function nameOf(path) {
  return path.replace(/sbx_\w+/, 'sandbox').replace(/vol_\w+/, 'volume').replace(/[^a-z]+/g, '-').replace(/^-|-$/g, '') || 'first'
}

/** Not scrolled away within the tabs that it is of. */
function isInSight(link) {
  const [shown, wanted] = [link.closest('nav'), link].map(element => element.getBoundingClientRect())
  return wanted.left >= shown.left - 1 && wanted.right <= shown.right + 1
}

/** Tables that scroll sideways, what of them can be pressed beyond the edge, and fields that a telephone enlarges. */
function outOfSight() {
  const found = []
  for (const frame of document.querySelectorAll('.table-frame')) {
    const name = frame.getAttribute('aria-label')
    if (frame.scrollWidth > frame.clientWidth) found.push(`the table ${name} scrolls by ${frame.scrollWidth - frame.clientWidth} pixels`)
    for (const one of frame.querySelectorAll('th, a, button, select')) {
      const { left, right } = one.getBoundingClientRect()
      if (left < 0 || right > innerWidth) found.push(`${one.outerHTML.slice(0, 80)} of ${name} is out of sight`)
    }
  }
  for (const field of document.querySelectorAll('main :is(input:not([type=checkbox], [type=file]), select, textarea)'))
    if (parseFloat(getComputedStyle(field).fontSize) < 16 && !field.closest('.xterm')) found.push(`small letters in ${field.outerHTML.slice(0, 80)}`)
  return found
}

await run(async ({ page }) => {
  const found = []
  const picture = async name => {
    if (env.SHOTS) await page.screenshot({ path: `${env.SHOTS}/${name}.png`, fullPage: true })
  }
  const onThePhone = async path => {
    await page.setViewportSize(PHONE)
    for (const theme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: theme })
      await picture(`${nameOf(path)}-phone-${theme}`)
    }
    // Charts are drawn anew for the new width.
    let wide
    for (let looks = 0; looks < 100; looks++) {
      wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      if (wide <= 0) break
      await page.waitForTimeout(100)
    }
    if (wide > 0) found.push(`${path}: ${wide} pixels wider than a phone`)
    for (const one of await page.evaluate(outOfSight)) found.push(`${path}: ${one}`)
    const tab = page.locator('.tabs [aria-current]')
    if ((await tab.count()) > 0) await page.waitForFunction(isInSight, await tab.elementHandle())
    await page.setViewportSize(WIDE)
  }
  const look = async (name, theme) => {
    await page.emulateMedia({ colorScheme: theme })
    // Only colours differ.
    for (const one of await axe(page, theme === 'dark' ? ['color-contrast'] : undefined)) found.push(`${name} (${theme}): ${one}`)
  }
  if (env.PASSWORD) {
    for (const [path, ready] of [['/sandboxes', 'form'], ['/invite#token', 'form']]) {
      await page.goto(url(path))
      await page.locator(ready).waitFor()
      await look(`sign-in at ${path}`, 'light')
      await look(`sign-in at ${path}`, 'dark')
      await onThePhone(`sign-in${path}`)
    }
    await signIn(page)
  }
  for (const [path, ready] of PAGES) {
    await page.goto(url(path))
    await page.locator(`main ${ready}`).first().waitFor()
    await page.getByText('Loading…').first().waitFor({ state: 'detached' })
    const moved = await jumped(page)
    if (moved.sum > JUMPS_MAX) found.push(`${path}: it jumps by ${moved.sum.toFixed(3)}: ${moved.what.join(', ')}`)
    for (const theme of ['light', 'dark']) {
      await look(path, theme)
      await picture(`${nameOf(path)}-wide-${theme}`)
    }
    await onThePhone(path)
    await page.emulateMedia({ colorScheme: 'light' })
  }
  for (const [path, button] of [['/keys', 'New key'], ['/operator/plans', 'Change enterprise']]) {
    await page.goto(url(path))
    await page.getByRole('button', { name: button }).click()
    await page.getByRole('dialog').waitFor()
    await look(`the dialog of ${button}`, 'light')
    await onThePhone(`${path}-dialog`)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  assert.deepEqual(found, [])
})
