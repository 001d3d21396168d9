// SPDX-License-Identifier: GPL-2.0-or-later
// usage: node node.js SOCKET
// The kernel of JavaScript. Cells run as in the console of a browser: `await` stands anywhere, `const` may be
// declared again, and the value of the last expression is the result.

const fs = require('fs')
const inspector = require('inspector')
const { createRequire } = require('module')
const net = require('net')
const path = require('path')
const { pathToFileURL } = require('url')
const util = require('util')
const vm = require('vm')

const JSON_MAX = 4 << 20
const TEXT_MAX = 16 << 20
const socket = new net.Socket({ fd: Number(process.argv[2]), readable: true, writable: true })
const session = new inspector.Session()
// A cell is evaluated below this script, which a signal ends also when the cell never does.
const breakable = new vm.Script('globalThis[Symbol.for("sandlot.run")]()')
const modules = createRequire(path.join(process.cwd(), 'cell.js'))
const saved = new Map()
let interrupted = () => {}

function say(answer) {
  socket.write(JSON.stringify(answer) + '\n')
}

// ---- Variables and random numbers

function setVariable(name, value) {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}

function enter({ lasting, passing, is_new: isNew }) {
  Object.assign(process.env, lasting)
  for (const [name, value] of Object.entries(passing)) {
    saved.set(name, process.env[name])
    process.env[name] = value
  }
  if (isNew) Math.random = randomFrom(new Uint32Array(1024))
}

function leave() {
  for (const [name, value] of saved) setVariable(name, value)
  saved.clear()
}

// V8's own generator returns the same numbers in each copy of the memory, and cannot be seeded. The
// module `crypto` does the same.
function randomFrom(pool) {
  const source = fs.openSync('/dev/urandom', 'r')
  let at = pool.length
  return () => {
    if (at === pool.length) {
      fs.readSync(source, pool)
      at = 0
    }
    return pool[at++] / 4294967296
  }
}

// ---- Modules

function fetchModule(name) {
  const isPath = /^(\.{0,2}\/|[a-z]+:)/.test(name)
  if (!isPath) {
    try {
      const found = modules.resolve(name)
      return import(path.isAbsolute(found) ? pathToFileURL(found) : found)
    } catch {
      return import(name)
    }
  }
  return import(/^[a-z]+:/.test(name) ? name : pathToFileURL(path.resolve(name)))
}

// Statements `import`, which only modules may have, as declarations; and `import(…)` as a call.
function withoutImports(code) {
  const from = /^([ \t]*)import\s+(?:([\w$]+)\s*,?\s*)?(?:\*\s*as\s+([\w$]+)|\{([^}]*)\})?\s*from\s*(['"])([^'"\n]+)\5[ \t]*;?/gm
  const bare = /^([ \t]*)import\s*(['"])([^'"\n]+)\2[ \t]*;?/gm
  const declared = code.replace(from, (_, indent, whole, space, names, __, module) => {
    const wanted = `await globalThis[Symbol.for("sandlot.import")](${JSON.stringify(module)})`
    const parts = []
    if (whole) parts.push(`{ default: ${whole} } = ${wanted}`)
    if (space) parts.push(`${space} = ${wanted}`)
    if (names !== undefined) parts.push(`{ ${names.replace(/\bas\b/g, ':')} } = ${wanted}`)
    return `${indent}const ${parts.join(', ')};`
  })
  return declared
    .replace(bare, (_, indent, __, module) => `${indent}await globalThis[Symbol.for("sandlot.import")](${JSON.stringify(module)});`)
    .replace(/(?<![\w$.'"`])import\s*\(/g, 'globalThis[Symbol.for("sandlot.import")](')
}

// `{a: 1}` alone is an object, as in a console.
function asExpression(code) {
  if (!/^\s*\{[^]*\}\s*$/.test(code)) return code
  try {
    new vm.Script(`(${code})`)
    return `(${code})`
  } catch {
    return code
  }
}

// ---- Results

function asJson(value) {
  const prototype = value && Object.getPrototypeOf(value)
  if (!Array.isArray(value) && prototype !== Object.prototype) return {}
  try {
    const text = JSON.stringify(value)
    return text.length <= JSON_MAX ? { 'application/json': JSON.parse(text) } : {}
  } catch {
    return {}
  }
}

function showResult(value, isMain = true) {
  if (value === undefined) return
  const text = typeof value === 'string' ? value : util.inspect(value)
  say({ result: { 'text/plain': text.slice(0, TEXT_MAX), ...asJson(value) }, is_main: isMain })
}

function showError(error) {
  if (!(error instanceof Error)) {
    say({ error: ['Error', typeof error === 'string' ? error : util.inspect(error), ''] })
    return
  }
  const lines = String(error.stack || error).split('\n')
  const end = lines.findIndex((line) => / at Session\.post |node\.js:\d+:\d+\)?$/.test(line))
  const [name, message] = [error.name, error.message].map((one) => String(one).slice(0, TEXT_MAX))
  say({ error: [name, message, lines.slice(0, end < 0 ? undefined : end).join('\n')] })
}

// ---- Cells

function post(method, parameters) {
  return new Promise((resolve, reject) =>
    session.post(method, parameters, (error, answer) => (error ? reject(error) : resolve(answer))))
}

// Returns the value that the inspector describes.
async function valueOf(remote) {
  if (!remote.objectId) {
    if (remote.type === 'bigint') return BigInt(remote.unserializableValue.slice(0, -1))
    return 'unserializableValue' in remote ? Number(remote.unserializableValue) : remote.value
  }
  let value
  globalThis[Symbol.for('sandlot.take')] = (one) => { value = one }
  await post('Runtime.callFunctionOn', {
    objectId: remote.objectId,
    functionDeclaration: 'function (one) { globalThis[Symbol.for("sandlot.take")](one) }',
    arguments: [{ objectId: remote.objectId }],
  })
  return value
}

function evaluate(expression) {
  return new Promise((resolve, reject) => {
    interrupted = () => reject(Object.assign(new Error('The cell was interrupted.'), { name: 'Interrupted', stack: '' }))
    globalThis[Symbol.for('sandlot.run')] = () => {
      post('Runtime.evaluate', { expression, replMode: true, awaitPromise: true }).then(resolve, reject)
    }
    try {
      breakable.runInThisContext({ breakOnSigint: true })
    } catch (error) {
      interrupted()
    }
  })
}

async function run(order) {
  enter(order)
  try {
    const { result, exceptionDetails } = await evaluate(asExpression(withoutImports(order.code)))
    if (exceptionDetails) {
      showError(await valueOf(exceptionDetails.exception ?? result))
    } else {
      showResult(await (await valueOf(result)))
    }
  } catch (error) {
    showError(error)
  }
  await post('Runtime.discardConsoleEntries').catch(() => {})
  leave()
  say({})
}

function listen() {
  const parts = []
  socket.setEncoding('utf8')
  socket.on('data', (text) => {
    parts.push(text)
    if (text.endsWith('\n')) run(JSON.parse(parts.splice(0).join('')))
  })
  socket.on('end', () => process.exit(0))
  socket.on('error', () => process.exit(0))
}

process.on('SIGINT', () => interrupted())
for (const kind of ['uncaughtException', 'unhandledRejection']) process.on(kind, (error) => console.error(error))
globalThis[Symbol.for('sandlot.import')] = fetchModule
globalThis.require = modules
globalThis.display = (value) => showResult(value, false)
session.connect()
listen()
say({})
