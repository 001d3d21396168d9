// SPDX-License-Identifier: GPL-2.0-or-later
// src/ becomes dist/: scripts and styles with their sum in the name, and an index.html that names the
// first of them. Nothing is inline, so that the strictest content security policy holds.

import fs from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'

const OUT = 'dist'

// The terminal writes its theme into <style> elements and colours into style attributes, both of which
// the policy refuses; the same through CSSOM it does not concern. A version that does neither, or does
// it otherwise, stops the build.
const HELPERS = `
const sandlotStyleElement = () => {
  const sheet = new CSSStyleSheet();
  const element = document.createElement('span');
  element.hidden = true;
  Object.defineProperty(element, 'textContent', {
    get: () => '',
    set: text => {
      sheet.replaceSync(text);
      if (!document.adoptedStyleSheets.includes(sheet))
        document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    },
  });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter(other => other !== sheet);
    if (element.parentNode) element.parentNode.removeChild(element);
  };
  return element;
};
const sandlotSetStyle = (element, text) => { element.style.cssText = text; };
`

function replaced(text, pattern, by, what) {
  let count = 0
  const out = text.replace(pattern, (...found) => {
    count++
    return typeof by === 'string' ? by : by(...found)
  })
  if (count === 0) throw new Error(`@xterm/xterm no longer ${what}: look at tools/bundle.mjs`)
  return out
}

const terminalWithoutInlineStyle = {
  name: 'terminal-without-inline-style',
  setup(builder) {
    builder.onLoad({ filter: /@xterm[/\\]xterm[/\\]lib[/\\]xterm\.m?js$/ }, ({ path: file }) => {
      let text = fs.readFileSync(file, 'utf8')
      text = replaced(text, /[\w$.]+\.createElement\("style"\)/g, 'sandlotStyleElement()', 'makes <style> elements')
      text = replaced(text, /([\w$]+)\.setAttribute\("style",/g, (_, element) => `sandlotSetStyle(${element},`,
        'sets style attributes')
      return { contents: HELPERS + text, loader: 'js' }
    })
  },
}

fs.rmSync(OUT, { recursive: true, force: true })
const common = {
  bundle: true,
  target: 'es2022',
  minify: true,
  legalComments: 'linked',
  entryNames: 'assets/[name]-[hash]',
  outdir: OUT,
  metafile: true,
  logLevel: 'warning',
}
const result = await build({
  ...common,
  entryPoints: { console: 'src/main.tsx' },
  splitting: true,
  format: 'esm',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  chunkNames: 'assets/[name]-[hash]',
  assetNames: 'assets/[name]-[hash]',
  plugins: [terminalWithoutInlineStyle],
})
// No module: the page waits for it.
const theme = await build({ ...common, entryPoints: { theme: 'src/theme.ts' }, format: 'iife' })

const outputs = Object.entries({ ...result.metafile.outputs, ...theme.metafile.outputs })
const entry = name => outputs.find(([, output]) => output.entryPoint === name)?.[0]
const script = entry('src/main.tsx')
const address = file => '/' + path.relative(OUT, file).split(path.sep).join('/')
const page = fs.readFileSync('src/index.html', 'utf8')
  .replace('@script@', address(script))
  .replace('@theme@', address(entry('src/theme.ts')))
  .replace('@style@', address(result.metafile.outputs[script].cssBundle))
fs.writeFileSync(path.join(OUT, 'index.html'), page)
fs.copyFileSync('src/icon.svg', path.join(OUT, 'icon.svg'))
fs.writeFileSync(path.join(OUT, 'robots.txt'), 'User-agent: *\nDisallow: /\n')

// What the first view loads: the page, and what its script imports without being asked.
const first = new Set()
function follow(file) {
  if (first.has(file)) return
  first.add(file)
  for (const wanted of result.metafile.outputs[file]?.imports ?? [])
    if (wanted.kind === 'import-statement') follow(wanted.path)
}
follow(script)
follow(entry('src/theme.ts'))
first.add(result.metafile.outputs[script].cssBundle)
first.add(path.join(OUT, 'index.html'))
fs.writeFileSync('first-view.txt', [...first].map(file => path.relative(OUT, file)).sort().join('\n') + '\n')
