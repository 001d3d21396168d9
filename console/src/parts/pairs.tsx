// SPDX-License-Identifier: GPL-2.0-or-later
// Rows of a name and a value, as many as wanted.
import { useId } from 'preact/hooks'
import { Button, type Choice } from './basic'

export interface Pair {
  name: string
  value: string
}

/** The pairs that have a name, as the interface takes them; undefined when there is none. */
export function pairsOf(pairs: Pair[]): Record<string, string> | undefined {
  const named = pairs.filter(pair => pair.name !== '')
  return named.length === 0 ? undefined : Object.fromEntries(named.map(pair => [pair.name, pair.value]))
}

export function Pairs(props: {
  legend: string
  hint?: string
  nameLabel: string
  valueLabel: string
  pairs: Pair[]
  onChange: (pairs: Pair[]) => void
  /** What the values may be, where they are not free. */
  choices?: Choice[]
  secret?: boolean
  add: string
}) {
  const id = useId()
  const change = (index: number, part: Partial<Pair>): void =>
    props.onChange(props.pairs.map((pair, at) => (at === index ? { ...pair, ...part } : pair)))
  return (
    <fieldset class="pairs">
      <legend>{props.legend}</legend>
      {props.hint && <p class="hint">{props.hint}</p>}
      {props.pairs.map((pair, index) => (
        <div class="pair" key={index}>
          <input
            id={`${id}-${index}`}
            class="mono"
            aria-label={`${props.nameLabel} ${index + 1}`}
            placeholder={props.nameLabel}
            value={pair.name}
            spellcheck={false}
            autoComplete="off"
            onInput={event => change(index, { name: event.currentTarget.value })}
          />
          {props.choices ? (
            <select
              aria-label={`${props.valueLabel} ${index + 1}`}
              value={pair.value}
              onChange={event => change(index, { value: event.currentTarget.value })}
            >
              <option value="">{props.valueLabel}</option>
              {!props.choices.some(choice => choice.value === pair.value) && pair.value !== '' && (
                <option value={pair.value} selected>
                  {pair.value} (does not exist here)
                </option>
              )}
              {props.choices.map(choice => (
                <option key={choice.value} value={choice.value} selected={choice.value === pair.value}>
                  {choice.text}
                </option>
              ))}
            </select>
          ) : (
            <input
              class="mono"
              type={props.secret ? 'password' : 'text'}
              aria-label={`${props.valueLabel} ${index + 1}`}
              placeholder={props.valueLabel}
              value={pair.value}
              spellcheck={false}
              autoComplete={props.secret ? 'new-password' : 'off'}
              onInput={event => change(index, { value: event.currentTarget.value })}
            />
          )}
          <Button
            small
            label={`Remove ${props.legend.toLowerCase()} ${index + 1}`}
            onClick={() => props.onChange(props.pairs.filter((_, at) => at !== index))}
          >
            ×
          </Button>
        </div>
      ))}
      <Button small onClick={() => props.onChange([...props.pairs, { name: '', value: '' }])}>
        {props.add}
      </Button>
    </fieldset>
  )
}
