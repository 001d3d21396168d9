// SPDX-License-Identifier: GPL-2.0-or-later
// A sandbox's life by hand: made, entered, files in and out, a preview, a change of its network with a
// denial seen, paused, resumed, deleted. Its fields are written as scripts, which must stay text.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import fs from 'node:fs/promises'
import { promisify } from 'node:util'
import { env, run, say, signIn, url } from './lib.mjs'

const SCRIPT = '<img src=x onerror="window.hacked=1">'

async function type(page, line) {
  await page.locator('.screen:visible textarea').focus()
  await page.keyboard.type(`${line}\n`)
}

const screen = page => page.locator('.screen:visible .xterm-rows')
const status = page => page.locator('.page-head .status')

async function tab(page, name) {
  await page.getByRole('navigation', { name: 'Parts of the sandbox' }).getByRole('link', { name }).click()
}

async function create(page) {
  await page.goto(url('/sandboxes'))
  await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
  await page.locator('main').getByRole('link', { name: 'New sandbox' }).first().click()
  await page.getByLabel('Timeout, seconds').fill('900')
  await page.getByRole('button', { name: 'Add metadata' }).click()
  await page.getByLabel('Key 1', { exact: true }).fill('note')
  await page.getByLabel('Value 1', { exact: true }).fill(SCRIPT)
  await page.getByRole('button', { name: 'Add a port' }).click()
  await page.getByLabel('Port 1', { exact: true }).fill('3000')
  assert.equal(await page.getByLabel('Public', { exact: true }).isChecked(), false)
  await page.getByLabel('Public', { exact: true }).check()
  await page.getByLabel('A policy of its own').check()
  await page.getByLabel('Internet access').uncheck()
  await page.getByLabel('Allow', { exact: true }).fill('allowed.example')
  const curl = page.locator('aside pre')
  await curl.getByText('"allow_internet_access": false').waitFor()
  assert.match(await curl.innerText(), /"port": 3000/)
  await page.getByRole('button', { name: 'Create the sandbox' }).click()
  await page.locator('.status[data-state=ready]').waitFor()
  await page.getByText(SCRIPT).waitFor()
  assert.match(await status(page).innerText(), /removed in 1[45] min/)
  const activity = page.getByRole('region', { name: 'Activity' })
  await activity.getByRole('row', { name: /sandbox[.]create .* in the console .* done$/ }).waitFor()
  assert.equal(await activity.getByText('sandbox.create').count(), 1) // not its begin, too
}

async function terminal(page) {
  await tab(page, 'Terminal')
  await screen(page).getByText('$').first().waitFor()
  await type(page, "echo $((40+2))x; printf '\\033[38;2;10;200;30mgreen\\033[0m\\n'")
  await screen(page).getByText('42x').waitFor()
  await screen(page).getByText('42x').dblclick()
  await page.keyboard.press('Control+c')
  await page.waitForFunction(() => navigator.clipboard.readText().then(text => text === '42x'))
  const green = screen(page).locator('span', { hasText: /^green$/ })
  await green.waitFor()
  assert.equal(await green.evaluate(element => getComputedStyle(element).color), 'rgb(10, 200, 30)')
  const before = await page.locator('.screen:visible').boundingBox()
  assert.ok(before.height > 200)
  await page.setViewportSize({ width: 520, height: 700 })
  await page.waitForTimeout(400)
  await type(page, 'echo columns=$(stty size | cut -d" " -f2)=')
  await screen(page).getByText(/columns=\d+=/).waitFor()
  const columns = Number(/columns=(\d+)=/.exec(await screen(page).innerText())[1])
  assert.ok(columns > 20 && columns < 80, `${columns} columns after a narrow window`)
  await page.setViewportSize({ width: 1280, height: 860 })
  // A second one beside it, and both again after the page was loaded again.
  await page.getByRole('button', { name: 'New terminal' }).click()
  await page.locator('.screen:visible[aria-label="Terminal 2"] .xterm-rows').getByText('$').first().waitFor()
  await page.reload()
  await page.getByRole('button', { name: /^Terminal 2 open/ }).waitFor()
  await page.getByRole('button', { name: /^Terminal 1 open/ }).click()
  // With what it showed before, which another browser's session would not have.
  await screen(page).getByText('Connected again.').waitFor()
  await screen(page).getByText('42x').waitFor()
  assert.ok(await page.evaluate(() => Object.keys(sessionStorage).some(key => key.startsWith('terminal '))))
  // An emoji is two columns wide, so the cursor behind it is where the shell believes it to be.
  await type(page, "printf '\\360\\237\\230\\200\\033[6n'; read -rsdR place; echo; echo place=${place#*;}=")
  await screen(page).getByText('place=3=').waitFor()
  await type(page, 'echo after=$((6*7))')
  await screen(page).getByText('after=42').waitFor()
  await type(page, 'mkdir -p site; cd site; python3 -m http.server 3000 >/dev/null 2>&1 &')
  await page.evaluate(text => navigator.clipboard.writeText(text), 'echo pasted=$((7*7))')
  await page.locator('.screen:visible textarea').focus()
  await page.keyboard.press('Control+v')
  await page.keyboard.press('Enter')
  await screen(page).getByText('pasted=49').waitFor()
  await page.keyboard.press('F6')
  assert.match(await page.evaluate(() => document.activeElement.innerText), /Terminal 1/)
}

const slowUploads = (line, uploadThroughput) =>
  line.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput })

async function files(page, context) {
  await tab(page, 'Files')
  const open = page.getByRole('button', { name: 'site, directory' })
  await open.click()
  assert.equal(await open.getAttribute('aria-expanded'), 'true')
  // By dropping onto the directory, with a name that is a script; how far it is is seen over a slow line.
  const dropped = await page.evaluateHandle(name => {
    const transfer = new DataTransfer()
    transfer.items.add(new File(['x'.repeat(2 << 20)], name))
    return transfer
  }, `${SCRIPT.replace('"window.hacked=1"', 'window.hacked=1')}.txt`)
  const row = page.locator('tr[data-directory="/home/user/site"]').first()
  const line = await context.newCDPSession(page)
  await slowUploads(line, 256 << 10)
  await row.dispatchEvent('dragover', { dataTransfer: dropped })
  await row.dispatchEvent('drop', { dataTransfer: dropped })
  await page.waitForFunction(() => {
    const bar = document.querySelector('.uploads progress')
    return bar && bar.value > 0 && bar.value < bar.max
  })
  await slowUploads(line, -1)
  await page.getByText('window.hacked=1>.txt').first().waitFor()
  await page.getByLabel('Directory', { exact: true }).fill('/home/user/site')
  await page.getByRole('button', { name: 'Go', exact: true }).click()
  await page.getByRole('button', { name: /^Download <img/ }).waitFor()
  await page.locator('input[type=file]').setInputFiles({
    name: 'index.html',
    mimeType: 'text/html',
    buffer: Buffer.from('<h1>first</h1>'),
  })
  await page.getByRole('button', { name: 'Edit index.html' }).click()
  const editor = page.getByLabel('Contents of /home/user/site/index.html')
  assert.equal(await editor.inputValue(), '<h1>first</h1>')
  await editor.fill('<h1>second</h1>\n')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await editor.waitFor({ state: 'detached' })
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download index.html' }).click(),
  ])
  assert.equal(await fs.readFile(await download.path(), 'utf8'), '<h1>second</h1>\n')
  // The browser itself has followed a signed link, which the page holds nothing of.
  assert.match(download.url(), /[?&]signature=v1_/)
  // The refusal of a download is said in the page.
  await runInside(page, context, 'mv /home/user/site/index.html /home/user/kept')
  await page.getByRole('button', { name: 'Download index.html' }).click()
  await page.getByText("Cannot open '/home/user/site/index.html'").waitFor()
  await runInside(page, context, 'mv /home/user/kept /home/user/site/index.html')
  await page.getByRole('button', { name: 'Up', exact: true }).click()
  const [packed] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download site' }).click(),
  ])
  assert.equal(packed.suggestedFilename(), 'site.tar.gz')
  const { stdout } = await promisify(execFile)('tar', ['-xzOf', await packed.path(), './site/index.html'])
  assert.equal(stdout, '<h1>second</h1>\n')
  // Packing without an end is stopped by its button.
  await page.getByLabel('Directory', { exact: true }).fill('/')
  await page.getByRole('button', { name: 'Go', exact: true }).click()
  await page.getByRole('button', { name: 'Download usr' }).click()
  await page.getByRole('button', { name: 'Stop packing usr' }).click()
  await page.getByText('Packing usr').waitFor({ state: 'detached' })
}

async function preview(page, context) {
  await tab(page, 'Ports')
  await page.getByText('a server listens').waitFor()
  const [opened] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('link', { name: new RegExp(`^p3000-[a-z2-7]+[.]${env.DATA_PLANE_HOST}`) }).click(),
  ])
  await opened.getByRole('heading', { name: 'second' }).waitFor()
  await opened.close()
  // Private it has no link any more: "Open" hands a token over.
  await page.getByLabel('Port 3000 is public').click()
  const open = page.getByRole('button', { name: 'Open', exact: true })
  const [entered] = await Promise.all([context.waitForEvent('page'), open.click()])
  await entered.getByRole('heading', { name: 'second' }).waitFor()
  await entered.close()
}

/** In another page, beside the one of the network. */
async function runInside(page, context, command) {
  const inside = await context.newPage()
  await inside.goto(page.url().replace(/\w+$/, 'processes'))
  await inside.getByLabel('Command', { exact: true }).fill(command)
  await inside.getByRole('button', { name: 'Run', exact: true }).click()
  await inside.getByText('Ended with').waitFor()
  await inside.close()
}

async function network(page, context) {
  await tab(page, 'Network')
  const denials = page.getByRole('region', { name: 'Denials' })
  await denials.locator('.empty, table').waitFor()
  assert.equal(await denials.getByText('refused.example').count(), 0)
  // It comes while one looks.
  await runInside(page, context, 'curl -sm 5 https://refused.example/')
  await denials.getByRole('row', { name: /^refused[.]example name/ }).waitFor()
  const check = page.getByLabel('Host and port')
  await check.fill('refused.example:443')
  await page.locator('.verdict').getByText('denied').waitFor()
  // The verdict follows what is typed into the policy, before it is saved.
  await page.getByLabel('Internet access').check()
  await page.locator('.verdict').getByText('allowed').waitFor()
  await page.locator('.verdict').getByText('not saved yet').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.locator('.verdict').getByText('denied').waitFor()
  await page.getByRole('button', { name: 'Allow refused.example' }).click()
  await page.locator('.verdict').getByText('allowed').waitFor()
  assert.equal(await page.getByLabel('Allow', { exact: true }).inputValue(), 'allowed.example\nrefused.example')
  // A refusal stands at its field, in the API's words.
  await page.getByLabel('Deny', { exact: true }).fill('not a host!')
  await page.getByRole('button', { name: 'Save the policy' }).click()
  await page.locator('#page [aria-invalid=true]').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  // A policy that asks: the request comes while one looks, and an answer is an entry.
  await page.getByLabel('Ask about other destinations').check()
  await page.getByRole('button', { name: 'Save the policy' }).click()
  const approvals = page.getByRole('region', { name: 'Approvals' })
  await approvals.locator('.empty').waitFor()
  await runInside(page, context, 'curl -sm 5 https://asked.example/')
  await approvals.getByRole('row', { name: /^asked[.]example pending/ }).waitFor()
  await page.getByRole('button', { name: 'Once: asked.example' }).click()
  await approvals.getByRole('row', { name: /^asked[.]example allowed/ }).waitFor()
  await page.getByRole('button', { name: 'Always: asked.example' }).click()
  await approvals.locator('.empty').waitFor()
  // The page reads the policy and the approvals by two requests.
  const allow = await page.getByLabel('Allow', { exact: true }).elementHandle()
  await page.waitForFunction(field => field.value.endsWith('asked.example'), allow)
}

async function extend(page, seconds, shortens) {
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Extend' }).click()
  await page.getByLabel('Seconds from now').fill(String(seconds))
  if (shortens) await dialog.getByLabel('Also when the deadline becomes earlier').check()
  await dialog.getByRole('button', { name: shortens ? 'Set the deadline' : 'Extend', exact: true }).click()
}

async function rest(page, context) {
  await tab(page, 'Processes')
  await page.getByLabel('Command', { exact: true }).fill(`printf '%s' '${SCRIPT}'`)
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByLabel('Standard output').getByText(SCRIPT).waitFor()
  await page.getByRole('table').getByText('http.server').first().waitFor()
  await tab(page, 'Terminal')
  // Another tab sees what this one does.
  const other = await context.newPage()
  await other.goto(page.url().replace(/[/]terminal$/, ''))
  await other.getByRole('button', { name: 'Pause' }).waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.locator('.status[data-state=stopped]').waitFor()
  await other.getByRole('button', { name: 'Resume' }).waitFor()
  await other.close()
  await page.getByRole('button', { name: /^Terminal 1 connecting again/ }).waitFor()
  await screen(page).getByText('The sandbox does not run').waitFor()
  assert.ok(!(await page.locator('body').innerText()).includes('POST'))
  await page.getByRole('button', { name: 'Resume the sandbox' }).click()
  await page.locator('.status[data-state=ready]').waitFor()
  await page.getByRole('button', { name: /^Terminal 1 open/ }).click()
  await type(page, 'echo resumed=$((8*8))')
  await screen(page).getByText('resumed=64').waitFor()
  await extend(page, 500, true)
  await status(page).getByText(/in 8 min/).waitFor()
  const left = await status(page).locator('time').innerText()
  await page.waitForFunction(before => document.querySelector('.page-head .status time').innerText !== before, left)
  await extend(page, 3000, false)
  await status(page).getByText(/in (50 min|49 min)/).waitFor()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
}

await run(async ({ page, context }) => {
  if (env.PASSWORD) await signIn(page)
  for (const step of [create, terminal, files, preview, network, rest]) {
    const from = Date.now()
    await step(page, context)
    say(`${step.name}: ${Date.now() - from} ms`)
  }
})
