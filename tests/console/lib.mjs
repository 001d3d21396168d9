// SPDX-License-Identifier: GPL-2.0-or-later
// A browser on the console. What the page's policy refuses, a request to any other host, an uncaught
// error and a script of somebody else's (window.hacked) fail the run, whatever it looked at.
//
// CONSOLE_URL, DATA_PLANE_HOST, CHROMIUM; the rest of the environment is each script's own.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { chromium } from 'playwright-core'

export const { env } = process
export const url = path => new URL(path, env.CONSOLE_URL).href
export const say = text => console.log(text)

// Waits end late: they are for a machine that has much else to do.
const WAIT_MS = Number(env.WAIT_MS ?? 60_000)

const findings = []
const consoleHost = new URL(env.CONSOLE_URL).host

function isOurs(address) {
  const { protocol, host, hostname } = new URL(address)
  return ['data:', 'blob:', 'about:'].includes(protocol) || isProvider(address) || host === consoleHost || hostname.endsWith(`.${env.DATA_PLANE_HOST}`)
}

/** PROVIDER_HOST: where people sign in; its own pages are not looked at. */
const isProvider = address => env.PROVIDER_HOST !== undefined && URL.canParse(address) && new URL(address).hostname === env.PROVIDER_HOST

export async function launch() {
  return chromium.launch({
    executablePath: env.CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--host-resolver-rules=MAP *.localhost 127.0.0.1'],
  })
}

/** A browser of its own, as another person or another machine has one. */
export async function newContext(browser, options = {}) {
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    viewport: { width: 1280, height: 860 },
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
    acceptDownloads: true,
    ...options,
  })
  context.setDefaultTimeout(WAIT_MS)
  await context.addInitScript(() => {
    window.jumps = []
    new PerformanceObserver(list => {
      for (const entry of list.getEntries())
        if (!entry.hadRecentInput) {
          const what = entry.sources.map(one => one.node).map(node => node?.outerHTML?.slice(0, 80) ?? node?.textContent ?? '?')
          window.jumps.push([entry.value, what.join(' | ')])
        }
    }).observe({ type: 'layout-shift', buffered: true })
    document.addEventListener('securitypolicyviolation', event =>
      console.error(`policy: ${event.violatedDirective} refused ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`))
  })
  context.on('page', watch)
  return context
}

function watch(page) {
  page.on('pageerror', error => findings.push(`uncaught: ${error.message}`))
  page.on('console', message => {
    const text = message.text()
    if (/policy|Refused to|violates/i.test(text)) findings.push(text)
  })
  page.on('request', request => {
    const frame = request.frame()
    if (!isOurs(request.url()) && frame.page() === page && !isProvider(frame.url())) findings.push(`request to ${request.url()}`)
  })
  page.on('dialog', dialog => {
    findings.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
}

/** As the sign-in page does it, without the page. */
export async function signIn(page, name = env.USER_NAME, password = env.PASSWORD) {
  await page.goto(url('/robots.txt'))
  const answer = await page.evaluate(async body => {
    const headers = { 'Sandlot-Console': '1', 'Content-Type': 'application/json' }
    const response = await fetch('/v1/login', { method: 'POST', headers, body: JSON.stringify(body) })
    return [response.status, await response.text()]
  }, { name, password })
  assert.equal(answer[0], 200, answer[1])
}

/** Runs work with a new browser, and ends the process with what was found. */
export async function run(work) {
  const browser = await launch()
  let page
  try {
    const context = await newContext(browser)
    page = await context.newPage()
    await work({ browser, context, page })
    assert.equal(await page.evaluate(() => window.hacked), undefined)
    assert.deepEqual(findings, [])
  } catch (error) {
    console.error(error)
    if (findings.length > 0) console.error('found:', findings)
    if (page && env.SHOTS) await page.screenshot({ path: `${env.SHOTS}/failed.png` }).catch(() => {})
    if (page) console.error(await page.locator('body').innerText({ timeout: 1000 }).catch(() => ''))
    process.exitCode = 1
  } finally {
    await browser.close()
  }
}

/** What of the page has moved since it was opened by itself: the sum of the shifts, and which elements. */
export async function jumped(page) {
  const jumps = await page.evaluate(() => window.jumps)
  return { sum: jumps.reduce((sum, [value]) => sum + value, 0), what: jumps.map(([value, what]) => `${value.toFixed(3)} ${what}`) }
}

export const axeSource = fs.readFileSync(new URL(import.meta.resolve('axe-core')), 'utf8')

/** What axe finds on the page as it is, by some rules or all; it is evaluated by the debugger, which no policy stops. */
export async function axe(page, rules) {
  if (!(await page.evaluate(() => window.axe !== undefined))) await page.evaluate(axeSource)
  const { violations } = await page.evaluate(
    values => window.axe.run(document, { resultTypes: ['violations'], ...(values ? { runOnly: values } : {}) }),
    rules,
  )
  return violations.map(one => `${one.id}: ${one.help}\n    ${one.nodes.slice(0, 4).map(node => `${node.html.slice(0, 160)} ${node.any.map(any => any.message).join('; ').slice(0, 200)}`).join('\n    ')}`)
}
