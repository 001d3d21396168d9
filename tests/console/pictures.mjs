// SPDX-License-Identifier: GPL-2.0-or-later
// Screenshots of the console's main pages for README and doc/: PICTURES is their folder, SANDBOX the
// sandbox that they show.

import { env, run, signIn, url } from './lib.mjs'

const sandbox = `/sandboxes/${env.SANDBOX}`
const PAGES = [
  ['console-overview', sandbox, '.line polyline[points*=" "]'],
  ['console-sandboxes', '/sandboxes', '.use'],
  ['console-create', '/sandboxes/new', 'form'],
  ['console-files', `${sandbox}/files`, 'table'],
  ['console-network', `${sandbox}/network`, 'form'],
  ['console-usage', '/usage', 'meter >> nth=0'],
]

async function terminal(page) {
  const screen = page.locator('.screen:visible .xterm-rows')
  await page.goto(url(`${sandbox}/terminal`))
  await screen.getByText('$').first().waitFor()
  await page.locator('.screen:visible textarea').focus()
  await page.keyboard.type("python3 -c 'print(sum(range(101)))'; df -h / | cut -c1-60\n")
  await screen.getByText('5050').waitFor()
}

await run(async ({ page }) => {
  const take = name => page.screenshot({ path: `${env.PICTURES}/${name}.png` })
  await page.setViewportSize({ width: 1120, height: 700 })
  await signIn(page)
  for (const [name, path, ready] of PAGES) {
    await page.goto(url(path))
    // The line of CPU needs two samples, of which rounds take one each.
    await page.locator(`main ${ready}`).first().waitFor({ state: 'attached', timeout: 180_000 })
    await page.getByText('Loading…').first().waitFor({ state: 'detached' })
    await take(name)
  }
  await terminal(page)
  await take('console-terminal')
})
