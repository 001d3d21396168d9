// SPDX-License-Identifier: GPL-2.0-or-later
// Ways into a sandbox from outside, each ready to paste where the key is an environment variable.
import { useState } from 'preact/hooks'
import type { Schemas } from '../lib/client'
import { useMe } from '../lib/session'
import { Copy, SelectField } from '../parts/basic'
import { apiOrigin, quoted } from './curl'

type Sandbox = Schemas['Sandbox']

type Ssh = Schemas['Me']['ssh']

const WAYS: Record<string, { name: string; hint: string; text: (sandbox: Sandbox, ssh: NonNullable<Ssh>) => string }> = {
  cli: {
    name: 'Command line',
    hint: 'sandlot login asks you to confirm in this console.',
    text: sandbox => `sandlot login ${apiOrigin()}\nsandlot shell ${sandbox.name ?? sandbox.id}`,
  },
  ssh: {
    name: 'SSH',
    hint: 'With an SSH key that you have added on the page “Keys”.',
    text: (sandbox, { host, port }) => `ssh ${port === 22 ? '' : `-p ${port} `}${sandbox.name ?? sandbox.id}@${host}`,
  },
  php: {
    name: 'PHP',
    hint: 'With SANDLOT_KEY in the environment.',
    text: sandbox =>
      [
        `$client = new Sandlot\\Client(${quoted(apiOrigin())}, getenv('SANDLOT_KEY'));`,
        `$sandbox = $client->sandboxes->get(${quoted(sandbox.id)});`,
        `echo $sandbox->commands->run('uname -a')->stdout;`,
      ].join('\n'),
  },
  python: {
    name: 'Python',
    hint: 'With the library e2b, and E2B_API_KEY (a key in the form for E2B) in the environment.',
    text: sandbox =>
      [
        ...e2bAddress(sandbox, '#'),
        'from e2b import Sandbox',
        '',
        `sandbox = Sandbox.connect(${quoted(sandbox.id)}, domain=${quoted(domainOf(sandbox))})`,
        `print(sandbox.commands.run('uname -a').stdout)`,
      ].join('\n'),
  },
  javascript: {
    name: 'JavaScript',
    hint: 'With the library e2b, and E2B_API_KEY (a key in the form for E2B) in the environment.',
    text: sandbox =>
      [
        ...e2bAddress(sandbox, '//'),
        "import { Sandbox } from 'e2b'",
        '',
        `const sandbox = await Sandbox.connect(${quoted(sandbox.id)}, { domain: ${quoted(domainOf(sandbox))} })`,
        `console.log((await sandbox.commands.run('uname -a')).stdout)`,
      ].join('\n'),
  },
  curl: {
    name: 'curl',
    hint: 'With SANDLOT_KEY in the environment, and jq.',
    text: sandbox =>
      [
        `TOKEN=$(curl -s -X POST ${quoted(`${apiOrigin()}/v1/sandboxes/${sandbox.id}/sessions`)} \\`,
        `  -H "Authorization: Bearer $SANDLOT_KEY" | jq -r .session.access_token)`,
        `curl -s ${quoted(`${sandbox.data_plane_url}/exec`)} -H "X-Access-Token: $TOKEN" \\`,
        `  -H 'Content-Type: application/json' -d '{"cmd": "uname -a"}'`,
      ].join('\n'),
  },
}

/** The name that all sandboxes are below, with its port. */
const domainOf = (sandbox: Sandbox): string => new URL(sandbox.data_plane_url).host.replace(/^[^.]+\./, '')

/** E2B's libraries call the API at "api." and the domain, unless a variable names another address. */
const e2bAddress = (sandbox: Sandbox, comment: string): string[] =>
  apiOrigin() === `https://api.${domainOf(sandbox)}` ? [] : [`${comment} Set E2B_API_URL=${apiOrigin()} in the environment.`]

export function Connect(props: { sandbox: Sandbox }) {
  const [way, setWay] = useState('cli')
  const { ssh } = useMe()
  const chosen = WAYS[way]
  if (!chosen) return null
  const text = chosen.text(props.sandbox, ssh ?? { host: '', port: 0 })
  return (
    <section class="card" aria-label="Connect">
      <div class="card-head">
        <h2>Connect</h2>
        <Copy text={text} what="the lines" />
      </div>
      <SelectField
        label="With"
        value={way}
        choices={Object.entries(WAYS)
          .filter(([value]) => value !== 'ssh' || ssh)
          .map(([value, { name }]) => ({ value, text: name }))}
        onChange={setWay}
        hint={chosen.hint}
      />
      <pre class="code" tabIndex={0}>
        {text}
      </pre>
    </section>
  )
}
