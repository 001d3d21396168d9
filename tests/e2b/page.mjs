// SPDX-License-Identifier: GPL-2.0-or-later
// What a page does with the public client; bundled by the test, and run in a browser.

import { Sandbox } from 'e2b'

window.useSandbox = async (options) => {
  const sandbox = await Sandbox.create({ ...options, timeoutMs: 120_000 })
  try {
    await sandbox.files.write('/home/user/a.txt', 'from a page')
    const { stdout } = await sandbox.commands.run('cat /home/user/a.txt')
    const listed = await Sandbox.list(options).nextItems()
    return [stdout, listed.some((one) => one.sandboxId === sandbox.sandboxId)]
  } finally {
    await sandbox.kill()
  }
}
