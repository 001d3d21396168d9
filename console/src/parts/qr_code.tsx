// SPDX-License-Identifier: GPL-2.0-or-later
import { generate } from 'lean-qr'

const QUIET = 4 // modules around the code, as readers want them

/** Dark on light in both themes, because many readers take no other. */
export function QrCode(props: { text: string; label: string }) {
  const code = generate(props.text)
  const size = code.size + 2 * QUIET
  const modules: string[] = []
  for (let y = 0; y < code.size; y++)
    for (let x = 0; x < code.size; x++) if (code.get(x, y)) modules.push(`M${x + QUIET} ${y + QUIET}h1v1h-1z`)
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={props.label} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={modules.join('')} fill="#000" />
    </svg>
  )
}
