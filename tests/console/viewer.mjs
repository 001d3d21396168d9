// SPDX-License-Identifier: GPL-2.0-or-later
// A viewer of TEAM, which has the sandbox SANDBOX: sees everything, is offered nothing to change, and is
// refused when asking all the same.

import assert from 'node:assert/strict'
import { env, run, signIn, url } from './lib.mjs'

await run(async ({ page }) => {
  await signIn(page)
  await page.goto(url('/sandboxes'))
  await page.getByLabel('Team').selectOption(env.TEAM)
  await page.getByText('You are a viewer').waitFor()
  await page.getByRole('link', { name: env.SANDBOX }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'New sandbox' }).count(), 0)
  await page.getByRole('link', { name: env.SANDBOX }).click()
  await page.locator('.status[data-state=ready]').waitFor()
  for (const name of ['Delete', 'Pause', 'Extend', 'Checkpoint', 'Edit metadata'])
    assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name)
  await page.getByRole('link', { name: 'Terminal', exact: true }).click()
  await page.getByText('Viewers cannot enter a sandbox.').waitFor()
  await page.getByRole('link', { name: 'Network', exact: true }).click()
  await page.getByLabel('Internet access').waitFor()
  assert.ok(await page.getByLabel('Internet access').isDisabled())
  await page.goto(url('/volumes'))
  await page.getByRole('heading', { name: 'Volumes', exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'New volume' }).count(), 0)
  const answers = await page.evaluate(async id => {
    const call = async (method, path, body) => {
      const headers = { 'Sandlot-Console': '1', 'Content-Type': 'application/json' }
      const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) })
      return [answer.status, (await answer.json()).error]
    }
    return [
      await call('DELETE', `/v1/sandboxes/${id}`),
      await call('POST', `/v1/sandboxes/${id}/sessions`, {}),
      await call('PUT', `/v1/sandboxes/${id}/network`, {}),
    ]
  }, env.SANDBOX)
  assert.deepEqual(answers, Array(3).fill([403, 'insufficient_scope']))
})
