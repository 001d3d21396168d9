// SPDX-License-Identifier: GPL-2.0-or-later
// An invitation, a wrong password, a session that ends while its page is open, and a second factor.
// INVITE is the link that `sandlotctl user invite` printed for USER_NAME.

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import jsQR from 'jsqr'
import { env, newContext, run, say, signIn, url } from './lib.mjs'

const PASSWORD = 'correct horse battery staple'

async function fill(page, password) {
  await page.getByLabel('Name').fill(env.USER_NAME)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

async function invite({ page }) {
  await page.goto(env.INVITE)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByLabel('The same again').fill('another one altogether')
  await page.getByText('The two are not the same.').waitFor()
  assert.equal(await page.evaluate(() => location.hash), '')
  await page.getByLabel('The same again').fill(PASSWORD)
  await page.getByRole('button', { name: 'Set the password and sign in' }).click()
  await page.getByRole('heading', { name: 'Sandboxes', exact: true }).waitFor()
  assert.equal(await page.evaluate(() => document.cookie), '')
  const again = await page.context().newPage()
  await again.goto(env.INVITE)
  await again.getByLabel('Password').fill(PASSWORD)
  await again.getByLabel('The same again').fill(PASSWORD)
  await again.getByRole('button', { name: 'Set the password and sign in' }).click()
  await again.getByRole('alert').waitFor()
  await again.close()
}

async function outAndIn({ page }) {
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to sandlot' }).waitFor()
  await page.goto(url('/keys'))
  await fill(page, 'something else entirely')
  const refusal = await page.getByRole('alert').innerText()
  assert.match(refusal, /password/i)
  await fill(page, PASSWORD)
  await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
}

/** Another browser of the same user ends this one's session: the page says so, and goes on after it. */
async function endedMeanwhile({ browser, page }) {
  await page.goto(url('/volumes'))
  await page.getByRole('heading', { name: 'Volumes', exact: true }).waitFor()
  const other = await newContext(browser)
  const there = await other.newPage()
  await signIn(there, env.USER_NAME, PASSWORD)
  await there.goto(url('/account'))
  const sessions = there.getByRole('region', { name: 'Sessions' }).getByRole('row')
  await sessions.nth(2).waitFor()
  for (let left = await sessions.count(); left > 2; left--) {
    await there.getByRole('button', { name: /^End the session/ }).first().click()
    await there.getByRole('dialog').getByRole('button', { name: 'End' }).click()
    await sessions.nth(left - 1).waitFor({ state: 'detached' })
  }
  await page.getByText('Your session has ended.').waitFor()
  await fill(page, PASSWORD)
  await page.getByRole('heading', { name: 'Volumes', exact: true }).waitFor()
  await other.close()
}

function codeOf(secret, at = Date.now()) {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret.replace(/=+$/, '')].map(letter => letters.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from(bits.match(/.{8}/g).map(byte => parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 30_000)))
  const sum = createHmac('sha1', key).update(counter).digest()
  return String((sum.readUInt32BE(sum[19] & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

/** The text of the QR code in the dialog, read from its picture. */
async function readCode(page) {
  const scale = 4
  const code = page.getByRole('img', { name: /authenticator's camera/ })
  const [size, shape] = await code.evaluate(svg => [svg.viewBox.baseVal.width, svg.querySelector('path').getAttribute('d')])
  const side = size * scale
  const pixels = new Uint8ClampedArray(side * side * 4).fill(255)
  for (const [, x, y] of shape.matchAll(/M(\d+) (\d+)/g))
    for (let row = 0; row < scale; row++) {
      const at = ((Number(y) * scale + row) * side + Number(x) * scale) * 4
      for (let column = 0; column < scale; column++) pixels.fill(0, at + column * 4, at + column * 4 + 3)
    }
  return jsQR(pixels, side, side)?.data ?? 'no code'
}

async function secondFactor({ page }) {
  await page.goto(url('/account'))
  const setUp = page.getByRole('button', { name: 'Set up an authenticator' })
  await setUp.click()
  const secret = await page.locator('[data-secret=totp]').innerText()
  assert.ok((await readCode(page)).includes(`secret=${secret}`))
  await page.getByLabel('Code').fill(codeOf(secret))
  await page.getByRole('button', { name: 'Confirm' }).click()
  const codes = (await page.locator('[data-secret=recovery]').innerText()).split('\n')
  assert.ok(codes.length >= 8 && codes.every(code => code.length >= 8))
  await page.getByRole('button', { name: 'I have stored them' }).click()
  await page.getByRole('button', { name: 'Remove it' }).waitFor()
  assert.equal(await setUp.count(), 0)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await fill(page, PASSWORD)
  await page.getByLabel('Code').fill('000000')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Code').fill(codes[0])
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Remove it' }).click()
  await page.getByRole('dialog').getByLabel('Password').fill(PASSWORD)
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('The second factor is removed.').waitFor()
  await setUp.waitFor()
}

await run(async tools => {
  for (const step of [invite, outAndIn, endedMeanwhile, secondFactor]) {
    const from = Date.now()
    await step(tools)
    say(`${step.name}: ${Date.now() - from} ms`)
  }
})
