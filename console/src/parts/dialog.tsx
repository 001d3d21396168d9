// SPDX-License-Identifier: GPL-2.0-or-later
// Questions above the page: the browser's own dialog holds the focus and ends at Escape.
import { createContext, type ComponentChildren, type RefObject } from 'preact'
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks'
import { signedOut } from '../lib/client'
import { Store, useStore } from '../lib/store'
import { Button, Problem, Refused } from './basic'

/** Leaves the surrounding dialog. */
const Leave = createContext<() => void>(() => undefined)

/** Closes the surrounding dialog, as the Escape key does. */
export function CloseButton(props: { children: ComponentChildren }) {
  return <Button onClick={useContext(Leave)}>{props.children}</Button>
}

/** A dialog that asks before it drops a text of several lines. */
export function Dialog(props: {
  title: string
  onClose: () => void
  wide?: boolean
  /** Hides the page behind it. */
  covers?: boolean
  /** The Escape key does not close the dialog, for example because its secret is shown only once. */
  staysOnEscape?: boolean
  children: ComponentChildren
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const gone = useRef(false)
  const isWritten = useRef(false)
  const id = useId()
  const leave = (): void => {
    if (!isWritten.current) props.onClose()
    else ask('Close without saving?', 'You lose the text that you have written here.', 'Discard the text', async () => props.onClose())
  }
  useEffect(() => {
    const element = dialog.current
    const before = document.activeElement
    if (element && !element.open) element.showModal()
    const keep = (event: BeforeUnloadEvent): void => {
      if (isWritten.current) event.preventDefault()
    }
    window.addEventListener('beforeunload', keep)
    return () => {
      // What is behind an open dialog takes no focus.
      gone.current = true
      window.removeEventListener('beforeunload', keep)
      element?.close()
      if (!before?.isConnected) document.getElementById('page')?.focus({ preventScroll: true })
      else if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class={props.covers ? 'covers' : props.wide ? 'wide' : undefined}
      aria-labelledby={id}
      onInput={event => {
        if (event.target instanceof HTMLTextAreaElement) isWritten.current = true
      }}
      onKeyDown={event => {
        // The browser closes the dialog at the second Escape, even when the event "cancel" is prevented.
        if (event.key !== 'Escape' || event.isComposing || !(props.staysOnEscape || isWritten.current)) return
        event.preventDefault()
        if (!props.staysOnEscape) leave()
      }}
      onCancel={event => {
        event.preventDefault()
        if (!props.staysOnEscape) leave()
      }}
      onClose={() => {
        // The browser has closed it, for example by the second Back gesture of a phone.
        if (gone.current) return
        if (props.staysOnEscape || isWritten.current) dialog.current?.showModal()
        if (!props.staysOnEscape) leave()
      }}
    >
      <h2 id={id}>{props.title}</h2>
      <Leave.Provider value={leave}>{props.children}</Leave.Provider>
    </dialog>
  )
}

/** A secret that the service shows only once. The Escape key does not close the dialog. */
export function SecretDialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  return (
    <Dialog title={props.title} onClose={props.onClose} wide staysOnEscape>
      {props.children}
      <div class="actions end">
        <Button kind="primary" onClick={props.onClose}>
          I have stored it
        </Button>
      </div>
    </Dialog>
  )
}

/** A form in a dialog, which stays open with the refusal when the service refuses. */
export function FormDialog(props: {
  title: string
  action: string
  danger?: boolean
  wide?: boolean
  disabled?: boolean
  submit: () => Promise<void>
  onClose: () => void
  children?: ComponentChildren
}) {
  const { busy, error, run, clear } = useAction()
  const form = useRefusedForm(error)
  return (
    <Dialog title={props.title} onClose={props.onClose} {...(props.wide ? { wide: true } : {})}>
      <form
        ref={form}
        onSubmit={event => {
          event.preventDefault()
          void run(props.submit)
        }}
      >
        <Refused.Provider value={error}>{props.children}</Refused.Provider>
        <Problem error={error} onLoaded={clear} />
        <div class="actions end">
          <CloseButton>Cancel</CloseButton>
          <Button type="submit" kind={props.danger ? 'danger' : 'primary'} busy={busy} disabled={props.disabled ?? false}>
            {props.action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** Brings a refusal to where the eyes are: to the field that it names, or to its words at the button. */
export function useRefusedForm(error: unknown): RefObject<HTMLFormElement> {
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (!error) return
    const field = form.current?.querySelector<HTMLElement>('[aria-invalid=true]')
    field?.focus({ preventScroll: true })
    const shown = field ?? form.current?.querySelector('[role=alert]')
    shown?.scrollIntoView({ block: 'center' })
  }, [error])
  return form
}

/** Runs one thing at a time and keeps what went wrong. */
export function useAction(): {
  busy: boolean
  error: unknown
  run: (action: () => Promise<void>) => Promise<void>
  clear: () => void
} {
  const [state, setState] = useState<{ busy: boolean; error: unknown }>({ busy: false, error: null })
  const alive = useRef(true)
  const running = useRef(false)
  useEffect(() => {
    alive.current = true
    return () => {
      alive.current = false
    }
  }, [])
  return {
    ...state,
    clear: () => setState(before => ({ ...before, error: null })),
    run: async action => {
      if (running.current) return
      running.current = true
      setState({ busy: true, error: null })
      let failure: unknown = null
      try {
        await action()
      } catch (error) {
        failure = error
      }
      running.current = false
      if (alive.current) setState({ busy: false, error: failure })
    },
  }
}

// --- one question at a time, from anywhere ---

interface Question {
  title: string
  text: ComponentChildren
  action: string
  danger: boolean
  run: () => Promise<void>
}

const question = new Store<Question | null>(null)

export function ask(title: string, text: ComponentChildren, action: string, run: () => Promise<void>, danger = true): void {
  question.set({ title, text, action, danger, run })
}

export function Questions() {
  const open = useStore(question)
  const out = useStore(signedOut)
  // A question would cover the sign-in, and the next user must not answer it.
  useEffect(() => {
    if (out !== 'no') question.set(null)
  }, [out])
  if (!open || out !== 'no') return null
  return (
    <FormDialog
      key={open.title}
      title={open.title}
      action={open.action}
      danger={open.danger}
      onClose={() => question.set(null)}
      submit={async () => {
        await open.run()
        if (question.value === open) question.set(null)
      }}
    >
      <p>{open.text}</p>
    </FormDialog>
  )
}

// --- what an action said, at the foot of the page ---

interface Said {
  id: number
  text: string
  bad: boolean
}

const said = new Store<Said[]>([])
let lastId = 0
const STAYS_MS = 5000

const unsay = (id: number): void => said.set(said.value.filter(one => one.id !== id))

export function say(text: string, bad = false): void {
  const id = ++lastId
  said.set([...said.value.slice(-3), { id, text, bad }])
  if (!bad) window.setTimeout(() => unsay(id), STAYS_MS)
}

export function Sayings() {
  const all = useStore(said)
  return (
    <div class="sayings" aria-live="polite" role="status">
      {all.map(one => (
        <div key={one.id} class={one.bad ? 'saying bad' : 'saying'}>
          <p>{one.text}</p>
          <button type="button" class="btn small" aria-label="Dismiss" onClick={() => unsay(one.id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  )
}
