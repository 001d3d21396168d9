// SPDX-License-Identifier: GPL-2.0-or-later
// The search over everything (Ctrl+K): sandboxes, checkpoints, templates, and the console's own commands.
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import { api, type Schemas } from '../lib/client'
import { usePoll } from '../lib/poll'
import { navigate } from '../lib/router'
import { useMayWrite, useTeam } from '../lib/session'
import { stateWord } from '../lib/states'
import { filterOf, findSandboxes } from '../pages/sandboxes'
import { Problem } from './basic'
import { Dialog } from './dialog'

type Sandbox = Schemas['Sandbox']
export interface Command {
  words: string
  run: () => void
}
interface Found {
  key: string
  group: string
  words: string
  more: string
  /** The text to search, in lower case. */
  text: string
  run: () => void
}

const A_GROUP = 8
const TYPED_MS = 150
const PAGE = 100

const found = (group: string, key: string, words: string, more: string, run: () => void): Found => ({
  group,
  key,
  words,
  more,
  text: `${words} ${more} ${key}`.toLowerCase(),
  run,
})

function sandboxFound(sandbox: Sandbox): Found {
  const metadata = Object.entries(sandbox.metadata).map(([key, value]) => `${key}=${value}`)
  const about = [stateWord(sandbox.state), sandbox.template, ...metadata.slice(0, 3)].join(' · ')
  const one = found('Sandboxes', sandbox.id, sandbox.name ?? sandbox.id, about, () => navigate(`/sandboxes/${sandbox.id}`))
  return { ...one, text: `${one.text} ${metadata.join(' ')}`.toLowerCase() }
}

/** The newest of each kind, and the sandboxes that the service finds for the text. */
function useThings(team: string, text: string): { things: Found[]; error: unknown } {
  const newest = usePoll(
    async signal => {
      const query = { team, limit: PAGE }
      const [sandboxes, checkpoints, templates] = await Promise.all([
        api.get('/v1/sandboxes', { query, signal }),
        api.get('/v1/checkpoints', { query, signal }),
        api.get('/v1/templates', { query: { team }, signal }),
      ])
      return { sandboxes: sandboxes.sandboxes, checkpoints: checkpoints.checkpoints, templates: templates.templates }
    },
    null,
    [team],
  )
  const [typed, setTyped] = useState('')
  useEffect(() => {
    const timer = window.setTimeout(() => setTyped(text), TYPED_MS)
    return () => window.clearTimeout(timer)
  }, [text])
  const asked = usePoll(
    async signal => {
      const filter = filterOf(typed)
      if (!filter.id && !filter.name && Object.keys(filter.metadata).length === 0) return []
      return (await findSandboxes(team, filter, { limit: A_GROUP }, signal)).rows
    },
    null,
    [team, typed],
  )
  const things = useMemo(() => {
    const sandboxes = new Map<string, Sandbox>()
    for (const one of [...(asked.data ?? []), ...(newest.data?.sandboxes ?? [])]) sandboxes.set(one.id, one)
    return [
      ...[...sandboxes.values()].map(sandboxFound),
      ...(newest.data?.checkpoints ?? []).map(one =>
        found('Checkpoints', one.id, one.name, `of ${one.sandbox_name ?? one.sandbox_id}`, () =>
          navigate(`/sandboxes/new?from=${one.id}`),
        ),
      ),
      ...(newest.data?.templates ?? []).map(one =>
        found('Templates', one.name, one.slug, one.name, () => navigate(`/templates/${one.slug}`)),
      ),
    ]
  }, [newest.data, asked.data])
  return { things, error: newest.error ?? asked.error }
}

function matching(all: Found[], text: string): Found[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const left = new Map<string, number>()
  return all.filter(one => {
    if (!words.every(word => one.text.includes(word))) return false
    const taken = left.get(one.group) ?? 0
    left.set(one.group, taken + 1)
    return taken < A_GROUP
  })
}

export function Palette(props: { commands: Command[]; onClose: () => void }) {
  const team = useTeam()
  const mayWrite = useMayWrite()
  const id = useId()
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const input = useRef<HTMLInputElement>(null)
  const { things, error } = useThings(team.slug, text)
  const commands = props.commands.map(one => found('Commands', one.words, one.words, '', one.run))
  // A checkpoint is a way to a new sandbox, which viewers make none of.
  const shown = matching([...things.filter(one => mayWrite || one.group !== 'Checkpoints'), ...commands], text)
  const at = Math.min(chosen, shown.length - 1)
  const groups = [...new Set(shown.map(one => one.group))]
  useEffect(() => input.current?.focus(), [])
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const take = (one: Found | undefined): void => {
    if (!one) return
    props.onClose()
    one.run()
  }
  const press = (event: KeyboardEvent): void => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }
    const step = steps[event.key]
    if (step !== undefined && shown.length > 0) setChosen((at + step + shown.length) % shown.length)
    else if (event.key === 'Enter') take(shown[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Search" onClose={props.onClose} wide>
      <input
        ref={input}
        type="text"
        class="palette-box"
        role="combobox"
        aria-label="Search sandboxes, checkpoints, templates and commands"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={shown.length > 0 ? `${id}-${at}` : undefined}
        autoComplete="off"
        spellcheck={false}
        placeholder="Name, id, key=value, command"
        value={text}
        onInput={event => {
          setText(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={press}
      />
      <Problem error={error} />
      <div id={id} role="listbox" aria-label="Found" class="palette">
        {groups.map(group => (
          <div key={group} role="group" aria-label={group}>
            <p class="fine" aria-hidden="true">
              {group}
            </p>
            {shown.map(
              (one, index) =>
                one.group === group && (
                  <div
                    key={one.key}
                    id={`${id}-${index}`}
                    role="option"
                    aria-selected={index === at}
                    onClick={() => take(one)}
                  >
                    <span>{one.words}</span> <span class="muted">{one.more}</span>
                  </div>
                ),
            )}
          </div>
        ))}
      </div>
      <p class="hint" role="status">
        {shown.length === 0 ? 'No results.' : 'Arrow keys choose, Enter opens.'}
      </p>
    </Dialog>
  )
}
