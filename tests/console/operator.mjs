// SPDX-License-Identifier: GPL-2.0-or-later
// An operator looks at the deployment, puts TEAM on another plan, activates HOST, which drains, and changes the
// plan enterprise, which warns before a removal HOURS ahead. With
// OPERATOR=no: somebody who is none is shown nothing of it.

import assert from 'node:assert/strict'
import fs from 'node:fs/promises'
import { axe, env, run, signIn, url } from './lib.mjs'

async function nobody(page) {
  await page.goto(url('/sandboxes'))
  await page.getByRole('link', { name: 'Usage' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'Deployment' }).count(), 0)
  const asked = []
  page.on('request', request => request.url().includes('/v1/operator/') && asked.push(request.url()))
  for (const path of ['/operator', '/operator/sandboxes', '/operator/teams', '/operator/users', '/operator/doctor']) {
    await page.goto(url(path))
    await page.getByText('This page is for operators').waitFor()
  }
  assert.deepEqual(asked, [])
}

/** Teams and users come a hundred at a time. */
async function inTeams(page, wanted, list = 'Teams') {
  await page.getByRole('group', { name: list }).waitFor()
  const more = page.getByRole('button', { name: 'Show more' })
  const click = () =>
    more.click({ timeout: 3000 }).catch(async error => {
      if (await more.count()) throw error // It has not gone meanwhile.
    })
  while (!(await wanted.count()) && (await more.count())) await click()
  await wanted.waitFor()
  return wanted
}

const findPlan = page => inTeams(page, page.getByLabel(`Plan of ${env.TEAM}`))

/** A refusal stands at its field and changes nothing; a change is there at once. */
async function changePlan(page) {
  const kept = page.getByRole('row', { name: /^Warned before a removal/ }).getByRole('cell').last()
  await kept.getByText(`${env.HOURS} hours`).waitFor()
  await page.getByRole('button', { name: 'Change enterprise' }).click()
  const dialog = page.getByRole('dialog')
  const hours = dialog.getByLabel('Warned before a removal')
  assert.equal(await hours.inputValue(), env.HOURS)
  await hours.fill(String(Number(env.HOURS) + 1))
  await dialog.getByLabel('Activity goes back').fill('1')
  await dialog.getByRole('button', { name: 'Change the plan' }).click()
  await dialog.locator('[aria-invalid=true]').waitFor()
  assert.match(await dialog.locator('.field-error').innerText(), /must be a whole number from 30 /)
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await kept.getByText(`${env.HOURS} hours`).waitFor()
  await page.getByRole('button', { name: 'Change enterprise' }).click()
  await hours.fill(String(Number(env.HOURS) + 1))
  await dialog.getByRole('button', { name: 'Change the plan' }).click()
  await page.getByText('The plan enterprise is changed.').waitFor()
  await kept.getByText(`${Number(env.HOURS) + 1} hours`).waitFor()
}

/** A user whose link sets a password, a team of that user, and what the team used over the last day. */
async function people(page) {
  const name = `u${Date.now().toString(36)}`
  const dialog = page.getByRole('dialog')
  await page.getByRole('link', { name: 'Users', exact: true }).click()
  await page.getByRole('button', { name: 'New user' }).click()
  await dialog.getByLabel('Name').fill('No Name')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByRole('alert').waitFor()
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByRole('button', { name: 'Create' }).click()
  assert.match(await dialog.locator('[data-secret=link]').innerText(), /\/invite#inv_/)
  await dialog.getByText(`Give it to ${name} only`).waitFor()
  await page.keyboard.press('Escape') // What is shown once stays.
  await dialog.getByRole('button', { name: 'I have stored it' }).click()
  await inTeams(page, page.getByRole('row', { name: `${name} enabled none off` }), 'Users')

  await page.getByRole('link', { name: 'Teams', exact: true }).click()
  await page.getByRole('button', { name: 'New team' }).click()
  await dialog.getByLabel('Name').fill(`${name}-team`)
  await dialog.getByLabel('Owner').fill('nobody-here')
  await dialog.getByLabel('Plan').selectOption('pro')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByRole('alert').waitFor()
  await dialog.getByLabel('Owner').fill(name)
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByText(`The team ${name}-team is created.`).waitFor()
  const curves = await inTeams(page, page.getByRole('button', { name: `Last day of ${env.TEAM}` }))
  await curves.click()
  await dialog.locator('.chart canvas').nth(1).waitFor()
  assert.deepEqual(await axe(page), [])
  await dialog.getByRole('button', { name: 'Close' }).click()
}

/** What operators did, searched and saved. */
async function audit(page) {
  await page.getByRole('link', { name: 'Activity', exact: true }).click()
  const card = page.getByRole('region', { name: 'Activity' })
  await card.getByLabel('What').fill('team.set_plan')
  await card.getByLabel('To', { exact: true }).fill(env.TEAM)
  await card.getByRole('button', { name: 'Search' }).click()
  await card.getByRole('row', { name: new RegExp(`team[.]set_plan ${env.TEAM} .* done$`) }).waitFor()
  assert.equal(await card.getByRole('row').count(), 2)
  const [saved] = await Promise.all([page.waitForEvent('download'), card.getByRole('button', { name: 'Export' }).click()])
  const lines = (await fs.readFile(await saved.path(), 'utf8')).trim().split('\n').map(line => JSON.parse(line))
  assert.ok(lines.length >= 1 && lines.every(({ action, resource }) => action === 'team.set_plan' && resource === env.TEAM))
  await card.getByLabel('Who').fill('nobody')
  await card.getByRole('button', { name: 'Search' }).click()
  await card.getByText('No entry matches.').waitFor()
}

async function operator(page) {
  await page.goto(url('/sandboxes'))
  await page.getByRole('link', { name: 'Deployment' }).click()
  const host = page.getByRole('region', { name: `Host ${env.HOST}` })
  await host.getByText('draining').waitFor()
  await host.getByRole('button', { name: `Activate ${env.HOST}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click()
  await host.getByRole('button', { name: `Drain ${env.HOST}` }).click()
  await page.getByRole('dialog').getByText('stay until they are deleted').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click()
  await host.getByRole('button', { name: `Activate ${env.HOST}` }).waitFor()
  await page.getByRole('region', { name: 'Workers' }).getByText('records').waitFor()

  // The doctor's count is on the first page.
  await page.locator('.doctor-count').getByText(/^(Nothing was wrong|\d+ findings?)$/).waitFor()

  await page.getByRole('link', { name: 'Teams', exact: true }).click()
  await (await findPlan(page)).selectOption('pro')
  await page.getByText(`${env.TEAM} is on the plan pro.`).waitFor()
  await page.reload()
  assert.equal(await (await findPlan(page)).inputValue(), 'pro')

  // A team's name leads to its sandboxes, which no member of it is needed for.
  await page.getByRole('link', { name: env.TEAM, exact: true }).click()
  const table = page.getByRole('group', { name: 'Sandboxes of all teams' })
  await table.getByRole('row', { name: new RegExp(`^operated sbx_\\w+ ${env.TEAM} running `) }).waitFor()
  assert.equal(await table.getByRole('row').count(), 2)
  await page.getByLabel('Team', { exact: true }).last().fill('')
  await page.waitForFunction(() => document.querySelectorAll('main tbody tr').length > 1)

  await people(page)
  await page.getByRole('link', { name: 'Plans', exact: true }).click()
  await changePlan(page)
  await page.getByRole('link', { name: 'Doctor', exact: true }).click()
  await page.getByRole('row', { name: /database/ }).first().waitFor()
  await audit(page)
}

await run(async ({ page }) => {
  await signIn(page)
  await (env.OPERATOR === 'no' ? nobody : operator)(page)
})
