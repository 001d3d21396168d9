// SPDX-License-Identifier: GPL-2.0-or-later
// usage: node desktop.mjs
// The unmodified npm package @e2b/desktop, and the ready-made template that it finds by its name.

import assert from 'node:assert/strict'
import './local_names.mjs'

const { Sandbox } = await import('@e2b/desktop')
const say = (text) => console.log(text)

function sizeOf(picture) {
  assert.equal(Buffer.from(picture.slice(1, 4)).toString(), 'PNG')
  return [16, 20].map((at) => Buffer.from(picture).readUInt32BE(at))
}

const desktop = await Sandbox.create({ timeoutMs: 300_000, resolution: [1024, 768] })
try {
  assert.deepEqual(await desktop.getScreenSize(), { width: 1024, height: 768 })
  assert.deepEqual(sizeOf(await desktop.screenshot()), [1024, 768])
  say('a screen')
  await desktop.moveMouse(200, 300)
  assert.deepEqual(await desktop.getCursorPosition(), { x: 200, y: 300 })
  await desktop.leftClick()
  await desktop.write('text')
  await desktop.press('enter')
  say('mouse and keys')
  await desktop.launch('xfce4-terminal')
  await desktop.commands.run('for i in $(seq 100); do xdotool search --onlyvisible --class xfce4-terminal && break; sleep 0.1; done',
    { envs: { DISPLAY: desktop.display } })
  assert.ok((await desktop.getApplicationWindows('xfce4-terminal')).length > 0)
  say('a program with a window')
  await desktop.stream.start({ requireAuth: true })
  const url = new URL(desktop.stream.getUrl({ authKey: desktop.stream.getAuthKey() }))
  const page = await fetch(url)
  assert.equal(page.status, 200)
  assert.match(await page.text(), /noVNC/)
  await desktop.stream.stop()
  say('a stream')
} finally {
  await desktop.kill()
}
