// SPDX-License-Identifier: GPL-2.0-or-later
// One terminal: a process with a PTY in the sandbox, and what is shown of it here. The process
// outlives the connection: a cut one, or a pause, is followed by looking for the process again.
import { FitAddon } from '@xterm/addon-fit'
import { SerializeAddon } from '@xterm/addon-serialize'
import { Unicode11Addon } from '@xterm/addon-unicode11'
import { Terminal, type ITheme } from '@xterm/xterm'
import { whenSignedIn } from '../lib/client'
import { CutError, fromBase64, rpc, rpcStream, toBase64 } from '../lib/dataplane'
import { ApiError, isAbort, messageOf } from '../lib/errors'
import { Store } from '../lib/store'

export type Status = 'starting' | 'open' | 'waiting' | 'ended'

interface ProcessEvent {
  start?: { pid?: number }
  data?: { pty?: string }
  end?: { exitCode?: number; status?: string }
}

const SHELLS = [
  { cmd: '/bin/bash', args: ['-i', '-l'] },
  { cmd: '/bin/sh', args: ['-i'] },
]
const ENVIRONMENT = { TERM: 'xterm-256color', COLORTERM: 'truecolor', LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' }
/** The prefix of the keys of stored screens, and the number of lines above the screen that are stored. */
export const KEPT = 'terminal '
const KEPT_LINES = 1000
const RESIZE_MS = 100
const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 5000
/** What the tags of terminals begin with, by which another page finds them again. */
export const TAG = 'console-terminal-'

export function terminalTheme(): ITheme {
  const style = getComputedStyle(document.documentElement)
  const of = (name: string): string => style.getPropertyValue(name).trim()
  return {
    background: of('--terminal'),
    foreground: of('--terminal-text'),
    cursor: of('--terminal-text'),
    selectionBackground: of('--terminal-selection'),
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'not_found'
}

function wordsFor(error: unknown): string {
  if (error instanceof CutError) return 'The connection broke; connecting again…'
  if (error instanceof ApiError && error.code === 'sandbox_not_running') return 'The sandbox is not running.'
  return messageOf(error)
}

export class TerminalSession {
  readonly status = new Store<Status>('starting')
  readonly title = new Store<string>('')
  #sandbox: string
  #terminal: Terminal
  #fit = new FitAddon()
  #serialize = new SerializeAddon()
  #pid: number | null
  #abort = new AbortController()
  #typed: string[] = []
  #sending = false
  #resizeTimer = 0
  #observer: ResizeObserver | null = null
  #onLeave: () => void = () => undefined

  /** pid: a process that is there already, or null for a new one. */
  constructor(sandbox: string, readonly tag: string, pid: number | null) {
    this.#sandbox = sandbox
    this.#pid = pid
    this.#terminal = new Terminal({
      cursorBlink: true,
      fontFamily: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
      fontSize: 13,
      scrollback: 5000,
      theme: terminalTheme(),
      allowProposedApi: true, // for the widths of emoji
    })
    this.#terminal.loadAddon(this.#fit)
    this.#terminal.loadAddon(this.#serialize)
    this.#terminal.loadAddon(new Unicode11Addon())
    this.#terminal.unicode.activeVersion = '11'
    this.#terminal.onData(text => this.#type(text))
    this.#terminal.onBinary(text => this.#type(text))
    this.#terminal.onTitleChange(title => this.title.set(title.slice(0, 40)))
    this.#terminal.onResize(() => this.#resized())
    this.#terminal.attachCustomKeyEventHandler(event => this.#key(event))
  }

  /** Shows the terminal in element; onLeave is called when the keyboard wants out of it. */
  open(element: HTMLElement, onLeave: () => void): void {
    this.#onLeave = onLeave
    this.#terminal.open(element)
    this.#observer = new ResizeObserver(() => this.fit())
    this.#observer.observe(element)
    this.fit()
    if (this.#pid !== null) this.#terminal.write(sessionStorage.getItem(this.#screenKey(this.#pid)) ?? '')
    window.addEventListener('pagehide', this.#keepScreen)
    void this.#live()
  }

  readonly #screenKey = (pid: number): string => `${KEPT}${this.#sandbox} ${pid}`

  /** Keeps what is shown for the next load of the page in this tab; the sandbox keeps no output of terminals. */
  readonly #keepScreen = (): void => {
    if (this.#pid === null) return
    try {
      const screen = this.#serialize.serialize({ scrollback: KEPT_LINES, excludeModes: true, excludeAltBuffer: true })
      sessionStorage.setItem(this.#screenKey(this.#pid), screen)
    } catch {
      // The storage is full: the next page starts with an empty screen.
    }
  }

  /** The shell's own title, as far as it has set one. */
  focus(): void {
    this.#terminal.focus()
  }

  fit(): void {
    if (this.#terminal.element?.offsetParent) this.#fit.fit()
  }

  retheme(): void {
    this.#terminal.options.theme = terminalTheme()
  }

  /** The sandbox runs again: no need to wait for the next try. */
  wake: () => void = () => undefined

  /** Takes the terminal away; with kill its process too. */
  close(kill: boolean): void {
    this.#abort.abort()
    this.#observer?.disconnect()
    window.removeEventListener('pagehide', this.#keepScreen)
    if (!kill) this.#keepScreen()
    else if (this.#pid !== null) sessionStorage.removeItem(this.#screenKey(this.#pid))
    window.clearTimeout(this.#resizeTimer)
    this.#terminal.dispose()
    if (kill && this.#pid !== null && this.status.value !== 'ended') {
      const message = { process: { pid: this.#pid }, signal: 'SIGNAL_SIGKILL' }
      rpc(this.#sandbox, 'process.Process/SendSignal', message).catch(() => undefined)
    }
  }

  #say(text: string): void {
    this.#terminal.write(`\r\n\x1b[2m${text}\x1b[0m\r\n`)
  }

  /** Starts or finds the process and follows it until it ends. */
  async #live(): Promise<void> {
    let pause = FIRST_RETRY_MS
    let told = ''
    while (!this.#abort.signal.aborted) {
      await whenSignedIn()
      try {
        if (this.#pid === null) await this.#start()
        else await this.#follow()
        return
      } catch (error) {
        if (isAbort(error) || this.#abort.signal.aborted) return
        if (isGone(error) && this.#pid !== null) {
          this.#ended('The process of this terminal has ended.')
          return
        }
        if (this.status.value === 'open') pause = FIRST_RETRY_MS
        this.status.set('waiting')
        const text = wordsFor(error)
        if (text !== told) this.#say(text)
        told = text
        await this.#rest(pause)
        pause = Math.min(LAST_RETRY_MS, pause * 2)
      }
    }
  }

  #rest(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = window.setTimeout(resolve, ms)
      this.wake = () => {
        window.clearTimeout(timer)
        resolve()
      }
    })
  }

  async #start(): Promise<void> {
    for (const [index, shell] of SHELLS.entries()) {
      const message = {
        process: { ...shell, envs: ENVIRONMENT },
        pty: { size: { cols: this.#terminal.cols, rows: this.#terminal.rows } },
        tag: this.tag,
      }
      try {
        await this.#stream('process.Process/Start', message)
        return
      } catch (error) {
        const missing = error instanceof ApiError && error.code === 'invalid_argument'
        if (!missing || index === SHELLS.length - 1) throw error
      }
    }
  }

  async #follow(): Promise<void> {
    await this.#stream('process.Process/Connect', { process: { pid: this.#pid } })
  }

  #stream(method: string, message: object): Promise<void> {
    const again = this.#pid !== null
    return rpcStream(
      this.#sandbox,
      method,
      message,
      said => this.#event((said['event'] ?? {}) as ProcessEvent, again),
      this.#abort.signal,
    )
  }

  #event(event: ProcessEvent, again: boolean): void {
    if (event.start) {
      this.#pid = event.start.pid ?? this.#pid
      this.status.set('open')
      if (again) this.#say('Connected again.')
      this.#resized()
      if (again) this.#redraw()
      void this.#send()
    }
    if (event.data?.pty) this.#terminal.write(fromBase64(event.data.pty))
    if (event.end) this.#ended(`The shell has ended${event.end.status ? ` (${event.end.status})` : ''}.`)
  }

  #ended(text: string): void {
    this.status.set('ended')
    this.#say(text)
  }

  // What is typed goes out in order: one call at a time, with all that has come meanwhile.
  #type(text: string): void {
    if (this.status.value === 'ended') return
    this.#typed.push(text)
    void this.#send()
  }

  async #send(): Promise<void> {
    if (this.#sending || this.#typed.length === 0 || this.status.value !== 'open' || this.#pid === null) return
    this.#sending = true
    const text = this.#typed.join('')
    this.#typed = []
    try {
      const pty = toBase64(new TextEncoder().encode(text))
      await rpc(this.#sandbox, 'process.Process/SendInput', { process: { pid: this.#pid }, input: { pty } })
    } catch {
      // The stream tells what has become of the process; what was typed is lost with the connection.
    }
    this.#sending = false
    void this.#send()
  }

  #resized(): void {
    window.clearTimeout(this.#resizeTimer)
    this.#resizeTimer = window.setTimeout(() => this.#update(this.#terminal.cols, this.#terminal.rows), RESIZE_MS)
  }

  #update(cols: number, rows: number): void {
    if (this.#pid === null || this.status.value !== 'open') return
    const message = { process: { pid: this.#pid }, pty: { size: { cols, rows } } }
    rpc(this.#sandbox, 'process.Process/Update', message).catch(() => undefined)
  }

  /** A program that fills the screen draws itself anew when its size changes. */
  #redraw(): void {
    this.#update(Math.max(2, this.#terminal.cols - 1), this.#terminal.rows)
  }

  /** Copy and paste as elsewhere, F6 out of the terminal; everything else is the program's. */
  #key(event: KeyboardEvent): boolean {
    if (event.type !== 'keydown') return true
    if (event.key === 'F6') {
      event.preventDefault()
      this.#onLeave()
      return false
    }
    const command = event.ctrlKey || event.metaKey
    const letter = event.key.toLowerCase()
    if (command && letter === 'c' && (event.shiftKey || this.#terminal.hasSelection())) {
      event.preventDefault()
      void navigator.clipboard.writeText(this.#terminal.getSelection())
      this.#terminal.clearSelection()
      return false
    }
    // The browser pastes into the terminal's own input, which hands it on.
    if (command && letter === 'v') return false
    return true
  }
}
