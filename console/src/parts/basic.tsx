// SPDX-License-Identifier: GPL-2.0-or-later
import { createContext, type ComponentChildren, type JSX } from 'preact'
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ChangedError } from '../lib/changes'
import { ApiError, fieldOf, messageOf } from '../lib/errors'
import { formatExact, formatSpan, formatTime } from '../lib/format'
import { useNow } from '../lib/poll'
import { useTitle } from '../lib/router'
import { stateWord } from '../lib/states'
import { Icon, type IconName } from './icon'

export function Page(props: { title: string; actions?: ComponentChildren; children: ComponentChildren }) {
  useTitle(props.title)
  return (
    <>
      <header class="page-head">
        <h1>{props.title}</h1>
        {props.actions && <div class="actions">{props.actions}</div>}
      </header>
      {props.children}
    </>
  )
}

interface ButtonProps {
  kind?: 'primary' | 'danger' | 'plain'
  small?: boolean
  busy?: boolean
  disabled?: boolean
  type?: 'button' | 'submit'
  label?: string
  icon?: IconName
  onClick?: () => void
  children: ComponentChildren
}

export function Button(props: ButtonProps) {
  const kinds = ['btn', props.kind ?? '', props.small ? 'small' : ''].filter(Boolean).join(' ')
  return (
    <button
      type={props.type ?? 'button'}
      class={kinds}
      disabled={props.disabled || props.busy}
      aria-busy={props.busy ? 'true' : undefined}
      aria-label={props.label}
      onClick={props.onClick}
    >
      {props.icon && <Icon name={props.icon} />}
      {props.children}
    </button>
  )
}

/** Opens the form for something new. */
export function NewButton(props: { what: string; onClick: () => void }) {
  return (
    <Button kind="primary" icon="plus" onClick={props.onClick}>
      {`New ${props.what}`}
    </Button>
  )
}

/** What went wrong, in the service's words, with the id that its log has. */
export function Problem(props: { error: unknown; onLoaded?: () => void }) {
  const { error } = props
  if (!error) return null
  const id = error instanceof ApiError ? error.requestId : null
  const load = (changed: ChangedError): void => {
    changed.load()
    props.onLoaded?.()
  }
  return (
    <div class="problem" role="alert">
      <p>{messageOf(error)}</p>
      {id && <p class="fine">Request {id}</p>}
      {error instanceof ChangedError && (
        <Button small onClick={() => load(error)}>
          Load the new version and keep my changes
        </Button>
      )}
    </div>
  )
}

export function Note(props: { children: ComponentChildren }) {
  return <p class="note">{props.children}</p>
}

/** Nothing there yet: what to do first. */
export function Empty(props: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{props.title}</h2>
      {props.children}
    </div>
  )
}

export function Loading() {
  return (
    <p class="loading" role="status">
      Loading…
    </p>
  )
}

const TONES: Record<string, string> = {
  ready: 'ok',
  applied: 'ok',
  allow: 'ok',
  allowed: 'ok',
  ask: 'busy',
  creating: 'busy',
  restoring: 'busy',
  checkpointing: 'busy',
  copying: 'busy',
  stopping: 'busy',
  building: 'busy',
  pending: 'busy',
  failed: 'bad',
  deny: 'bad',
  blocked: 'bad',
}

export function State(props: { value: string; word?: string }) {
  return (
    <span class={`state ${TONES[props.value] ?? 'calm'}`}>
      {props.word ?? stateWord(props.value)}
    </span>
  )
}

export function Time(props: { at: string | null | undefined; none?: string }) {
  if (!props.at) return <span class="muted">{props.none ?? '–'}</span>
  return (
    <time dateTime={props.at} title={formatExact(props.at)}>
      {formatTime(props.at)}
    </time>
  )
}

export function TimeCell(props: { at: string | null | undefined; none?: string }) {
  return (
    <td class="nowrap">
      <Time {...props} />
    </td>
  )
}

/** Counts down to a time, second by second. */
export function Countdown(props: { to: string; past: string }) {
  const left = (Date.parse(props.to) - useNow()) / 1000
  return (
    <time dateTime={props.to} title={formatExact(props.to)} class="number">
      {left > 0 ? formatSpan(left) : props.past}
    </time>
  )
}

export function Copy(props: { text: string; what: string; children?: ComponentChildren }) {
  const [result, setResult] = useState<'Copied' | 'Not copied' | null>(null)
  const timer = useRef(0)
  useEffect(() => () => window.clearTimeout(timer.current), [])
  const copy = (): void => {
    const show = (words: 'Copied' | 'Not copied'): void => {
      setResult(words)
      window.clearTimeout(timer.current)
      timer.current = window.setTimeout(() => setResult(null), 1500)
    }
    navigator.clipboard.writeText(props.text).then(() => show('Copied'), () => show('Not copied'))
  }
  return (
    <button type="button" class="btn small copy" aria-label={`Copy ${props.what}`} onClick={copy}>
      <span aria-live="polite">{result ?? props.children ?? 'Copy'}</span>
    </button>
  )
}

/** A text that is shown only once, with a button that copies it. kind: the name by which tests find it. */
export function SecretText(props: { text: string; what: string; kind?: string }) {
  return (
    <p class="secret">
      <code class="long" data-secret={props.kind}>
        {props.text}
      </code>
      <Copy text={props.text} what={props.what} />
    </p>
  )
}

/** An id: whole for copying, short for reading. */
export function Id(props: { value: string; href?: string }) {
  const text = <code class="id">{props.value}</code>
  return props.href ? <a href={props.href}>{text}</a> : text
}

/** Shows a name with the id after it, or the id alone if there is no name. */
export function Named(props: { name: string | null | undefined; id: string; href?: string }) {
  if (!props.name) return <Id value={props.id} {...(props.href ? { href: props.href } : {})} />
  return (
    <span class="named">
      {props.href ? <a href={props.href}>{props.name}</a> : <span>{props.name}</span>} <Id value={props.id} />
    </span>
  )
}

/** The refusal of the surrounding form. The field of the refused member shows it. */
export const Refused = createContext<unknown>(null)

function refusalOfMember(refused: unknown, member: string | undefined): string | null {
  const isOfIt = member !== undefined && refused instanceof ApiError && fieldOf(refused.field) === member
  return isOfIt ? messageOf(refused) : null
}

interface FieldProps {
  label: string
  /** The member of the request that has the value. */
  member?: string | undefined
  hint?: ComponentChildren
  error?: string | null | undefined
  children: (ids: { id: string; 'aria-describedby': string | undefined; 'aria-invalid': 'true' | undefined }) => JSX.Element
}

export function Field(props: FieldProps) {
  const id = useId()
  const error = useContext(Refused)
  const refusal = props.error ?? refusalOfMember(error, props.member)
  const describes = refusal || props.hint ? `${id}-more` : undefined
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      {props.children({ id, 'aria-describedby': describes, 'aria-invalid': refusal ? 'true' : undefined })}
      {refusal ? (
        <p class="field-error" id={describes}>
          {refusal}
        </p>
      ) : (
        props.hint && (
          <p class="hint" id={describes}>
            {props.hint}
          </p>
        )
      )}
    </div>
  )
}

interface TextProps {
  label: string
  member?: string
  value: string
  onInput?: (value: string) => void
  type?: 'text' | 'password' | 'number' | 'datetime-local' | 'search'
  hint?: ComponentChildren
  error?: string | null | undefined
  name?: string
  required?: boolean
  autoFocus?: boolean
  autoComplete?: string
  inputMode?: 'numeric' | 'text'
  placeholder?: string
  min?: number
  max?: number
  step?: number
  mono?: boolean
  maxLength?: number
  disabled?: boolean
  readOnly?: boolean
}

export function TextField(props: TextProps) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (props.autoFocus) input.current?.focus()
  }, [])
  return (
    <Field label={props.label} member={props.member} hint={props.hint} error={props.error}>
      {ids => (
        <input
          {...ids}
          ref={input}
          type={props.type ?? 'text'}
          name={props.name}
          class={props.mono ? 'mono' : undefined}
          value={props.value}
          required={props.required}
          autoComplete={props.autoComplete ?? 'off'}
          spellcheck={false}
          inputMode={props.inputMode}
          placeholder={props.placeholder}
          min={props.min}
          max={props.max}
          step={props.step}
          maxLength={props.maxLength}
          disabled={props.disabled}
          readOnly={props.readOnly}
          onInput={event => props.onInput?.(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

/** For password managers: whose password a form has that shows no name. */
export function UserName(props: { value: string }) {
  return <input type="text" name="username" autoComplete="username" value={props.value} readOnly hidden />
}

export function AreaField(props: {
  label: string
  member?: string
  value: string
  onInput: (value: string) => void
  hint?: ComponentChildren
  error?: string | null | undefined
  rows?: number
  name?: string
  disabled?: boolean
}) {
  return (
    <Field label={props.label} member={props.member} hint={props.hint} error={props.error}>
      {ids => (
        <textarea
          {...ids}
          name={props.name}
          class="mono"
          rows={props.rows ?? 3}
          value={props.value}
          spellcheck={false}
          disabled={props.disabled}
          onInput={event => props.onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

export interface Choice {
  value: string
  text: string
}

export function SelectField(props: {
  label: string
  member?: string
  value: string
  choices: Choice[]
  onChange: (value: string) => void
  hint?: ComponentChildren
  error?: string | null | undefined
  name?: string
  required?: boolean
  disabled?: boolean
}) {
  const isLost = props.value !== '' && !props.choices.some(choice => choice.value === props.value)
  const choices = isLost ? [...props.choices, { value: props.value, text: props.value }] : props.choices
  const error = isLost ? 'This does not exist any more. Choose something else.' : props.error
  return (
    <Field label={props.label} member={props.member} hint={props.hint} error={error}>
      {ids => (
        <select
          {...ids}
          name={props.name}
          value={props.value}
          required={props.required}
          disabled={props.disabled}
          onChange={event => props.onChange(event.currentTarget.value)}
        >
          {choices.map(choice => (
            <option key={choice.value} value={choice.value} selected={choice.value === props.value}>
              {choice.text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

export function Check(props: {
  label: ComponentChildren
  checked: boolean
  onChange: (checked: boolean) => void
  hint?: string
  disabled?: boolean
  name?: string
}) {
  const id = useId()
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        name={props.name}
        checked={props.checked}
        disabled={props.disabled}
        aria-describedby={props.hint ? `${id}-hint` : undefined}
        onChange={event => props.onChange(event.currentTarget.checked)}
      />
      <label for={id}>{props.label}</label>
      {props.hint && (
        <p class="hint" id={`${id}-hint`}>
          {props.hint}
        </p>
      )}
    </div>
  )
}

/** Each cell has the words of its column, which stand before it where a narrow screen has no columns. */
function labelCells(table: HTMLTableElement | null): void {
  const words = [...(table?.tHead?.rows[0]?.cells ?? [])].map(cell =>
    cell.querySelector('.unseen') ? '' : (cell.textContent ?? '').trim(),
  )
  for (const row of table?.tBodies[0]?.rows ?? [])
    for (const [index, cell] of [...row.cells].entries())
      if (cell.tagName === 'TD' && cell.dataset['label'] !== words[index]) cell.dataset['label'] = words[index] ?? ''
}

/** The head of a column by which the reader sorts: a button, with the present order. */
export interface SortHead {
  sort: string
  order: 'ascending' | 'descending' | undefined
  onSort: () => void
}

const isSortHead = (head: ComponentChildren | SortHead): head is SortHead => typeof head === 'object' && head !== null && 'onSort' in head

/** The head of a column of buttons. */
export const ACTIONS = <span class="unseen">Actions</span>

/** A table; on a narrow screen each row is a block, with its head first and its actions last. */
export function Table(props: { label: string; head: (ComponentChildren | SortHead)[]; children: ComponentChildren; dense?: boolean }) {
  const table = useRef<HTMLTableElement>(null)
  useLayoutEffect(() => labelCells(table.current))
  return (
    <div class="table-frame" role="group" aria-label={props.label} tabIndex={0}>
      <table ref={table} class={props.dense ? 'dense' : undefined}>
        <thead>
          <tr>
            {props.head.map((head, index) =>
              isSortHead(head) ? (
                <th scope="col" key={index} aria-sort={head.order ?? 'none'}>
                  <button type="button" class="sort" onClick={head.onSort}>
                    {head.sort}
                  </button>
                </th>
              ) : (
                <th scope="col" key={index}>
                  {head}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </div>
  )
}

export function Facts(props: { children: ComponentChildren }) {
  return <dl class="facts">{props.children}</dl>
}

export function Fact(props: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  )
}

/** How much of a limit is used. */
export function Bar(props: { label: string; used: number; of: number; text: string }) {
  const id = useId()
  const full = props.of > 0 ? props.used / props.of : 0
  return (
    <div class="bar">
      <span id={id}>{props.label}</span>
      <meter aria-labelledby={id} min={0} max={Math.max(props.of, 1)} high={props.of * 0.85} optimum={0} value={Math.min(props.used, Math.max(props.of, 1))} />
      <span class={full >= 1 ? 'number full' : 'number'}>{props.text}</span>
    </div>
  )
}
