// SPDX-License-Identifier: GPL-2.0-or-later
// What is around every page: who is signed in, the team, the way to other pages.
import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useErrorBoundary, useState } from 'preact/hooks'
import { signedOut } from './lib/client'
import { forgetAccess } from './lib/dataplane'
import { ApiError } from './lib/errors'
import { navigate, ownPath, returnPath, usePlace } from './lib/router'
import { chooseTeam, loadMe, me, signOut, useFreshMe, useMayWrite, useMe, useTeam } from './lib/session'
import { useStore } from './lib/store'
import { setTheme, theme, type Theme } from './lib/theme'
import { Button, Loading, Problem } from './parts/basic'
import { Questions, Sayings, say } from './parts/dialog'
import { messageOf } from './lib/errors'
import { SignIn, SignInAgain } from './pages/sign_in'
import { SandboxList } from './pages/sandboxes'
import { Icon, type IconName } from './parts/icon'
import { lazy } from './parts/lazy'

const SandboxCreate = lazy(() => import('./pages/sandbox_create').then(module => module.SandboxCreate))
const SandboxPage = lazy(() => import('./pages/sandbox').then(module => module.SandboxPage))
const Templates = lazy(() => import('./pages/templates').then(module => module.Templates))
const TemplatePage = lazy(() => import('./pages/templates').then(module => module.TemplatePage))
const Checkpoints = lazy(() => import('./pages/checkpoints').then(module => module.Checkpoints))
const Volumes = lazy(() => import('./pages/volumes').then(module => module.Volumes))
const VolumePage = lazy(() => import('./pages/volumes').then(module => module.VolumePage))
const Secrets = lazy(() => import('./pages/secrets').then(module => module.Secrets))
const Webhooks = lazy(() => import('./pages/webhooks').then(module => module.Webhooks))
const Keys = lazy(() => import('./pages/keys').then(module => module.Keys))
const Team = lazy(() => import('./pages/team').then(module => module.Team))
const Usage = lazy(() => import('./pages/usage').then(module => module.Usage))
const Operator = lazy(() => import('./pages/operator').then(module => module.Operator))
const Device = lazy(() => import('./pages/device').then(module => module.Device))
const Invite = lazy(() => import('./pages/invited').then(module => module.Invite))
const Join = lazy(() => import('./pages/invited').then(module => module.Join))
const Palette = lazy(() => import('./parts/palette').then(module => module.Palette))
const Account = lazy(() => import('./pages/account').then(module => module.Account))

type Parts = Record<string, string>
type PageOfRoute = ComponentType<{ parts: Parts }>

const ROUTES: [RegExp, PageOfRoute][] = [
  [/^\/sandboxes$/, SandboxList as PageOfRoute],
  [/^\/sandboxes\/new$/, SandboxCreate as PageOfRoute],
  [/^\/sandboxes\/(?<id>sbx_[0-9a-z]+)(?:\/(?<tab>[a-z]+))?$/, SandboxPage as PageOfRoute],
  [/^\/templates$/, Templates as PageOfRoute],
  [/^\/templates\/(?<slug>[a-z0-9-]+)$/, TemplatePage as PageOfRoute],
  [/^\/checkpoints$/, Checkpoints as PageOfRoute],
  [/^\/volumes$/, Volumes as PageOfRoute],
  [/^\/volumes\/(?<id>vol_[0-9a-z]+)$/, VolumePage as PageOfRoute],
  [/^\/secrets$/, Secrets as PageOfRoute],
  [/^\/webhooks$/, Webhooks as PageOfRoute],
  [/^\/keys$/, Keys as PageOfRoute],
  [/^\/team$/, Team as PageOfRoute],
  [/^\/usage$/, Usage as PageOfRoute],
  [/^\/operator(?:\/(?<tab>[a-z]+))?$/, Operator as PageOfRoute],
  [/^\/account$/, Account as PageOfRoute],
  [/^\/device$/, Device as PageOfRoute],
]

type Way = [path: string, words: string, icon: IconName]

const WAYS: Way[] = [
  ['/sandboxes', 'Sandboxes', 'box'],
  ['/templates', 'Templates', 'layers'],
  ['/checkpoints', 'Checkpoints', 'mark'],
  ['/volumes', 'Volumes', 'disk'],
  ['/secrets', 'Secrets', 'lock'],
  ['/webhooks', 'Webhooks', 'bell'],
  ['/keys', 'Keys', 'key'],
  ['/team', 'Team', 'people'],
  ['/usage', 'Usage', 'bars'],
]

const OPERATORS_WAY: Way = ['/operator', 'Deployment', 'server']

function routed(path: string): { Page: PageOfRoute; parts: Parts } | null {
  for (const [pattern, Page] of ROUTES) {
    const found = pattern.exec(path)
    if (found) return { Page, parts: { ...found.groups } as Parts }
  }
  return null
}

function Nowhere() {
  return (
    <div class="empty">
      <h1>This page does not exist</h1>
      <p>
        <a href="/sandboxes">Go to the sandboxes</a>
      </p>
    </div>
  )
}

function TeamChoice() {
  const { teams } = useMe()
  const team = useTeam()
  return (
    <div class="team-choice">
      <label for="team-choice">Team</label>
      <select id="team-choice" value={team.slug} onChange={event => chooseTeam(event.currentTarget.value)}>
        {teams.map(one => (
          <option key={one.slug} value={one.slug} selected={one.slug === team.slug}>
            {one.slug}
            {one.personal ? ' (personal)' : ''}
          </option>
        ))}
      </select>
    </div>
  )
}

const THEMES: [Theme, string][] = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

function ThemeChoice() {
  const chosen = useStore(theme)
  return (
    <div class="theme-choice">
      <label for="theme-choice">Theme</label>
      <select id="theme-choice" value={chosen} onChange={event => setTheme(event.currentTarget.value as Theme)}>
        {THEMES.map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
    </div>
  )
}

/** Ctrl+K, except where a terminal has the keys: there it is the shell's. A dialog that is open would be lost. */
function useSearchKey(open: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
      if (event.target instanceof Element && event.target.closest('.screen')) return
      event.preventDefault()
      if (!document.querySelector('dialog[open] .actions, dialog.covers')) open()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}

function Search(props: { operator: boolean; leave: () => void }) {
  const [open, setOpen] = useState(false)
  const mayWrite = useMayWrite()
  useSearchKey(() => setOpen(true))
  const ways = [
    ...(mayWrite ? [['/sandboxes/new', 'New sandbox'] as const] : []),
    ...WAYS,
    ...(props.operator ? [OPERATORS_WAY] : []),
    ['/account', 'Account'] as const,
  ]
  const commands = [
    ...ways.map(([path, words]) => ({ words, run: () => navigate(path) })),
    ...THEMES.map(([name, words]) => ({ words: `Theme: ${words.toLowerCase()}`, run: () => setTheme(name) })),
    { words: 'Sign out', run: props.leave },
  ]
  return (
    <>
      <button type="button" class="btn search" aria-keyshortcuts="Control+K" onClick={() => setOpen(true)}>
        <Icon name="search" />
        <span>Search</span> <kbd>Ctrl K</kbd>
      </button>
      {open && <Palette commands={commands} onClose={() => setOpen(false)} />}
    </>
  )
}

function Frame(props: { path: string; children: ComponentChildren }) {
  const { user, operator } = useMe()
  const team = useTeam()
  const [open, setOpen] = useState(false)
  useEffect(() => setOpen(false), [props.path])
  const leave = (): void => {
    signOut().catch((error: unknown) => say(messageOf(error), true))
  }
  return (
    <div class="frame">
      <a class="skip" href="#page">
        Skip to the page
      </a>
      <header class="side" data-open={open ? 'yes' : 'no'}>
        <div class="brand">
          <a href="/sandboxes" aria-label="sandlot, to the sandboxes">
            <img src="/icon.svg" alt="" width="24" height="24" />
            <span>sandlot</span>
          </a>
          <button type="button" class="btn menu" aria-expanded={open} aria-controls="ways" onClick={() => setOpen(!open)}>
            <Icon name="menu" />
            Menu
          </button>
        </div>
        <div class="side-body" id="ways">
          <Search operator={operator} leave={leave} />
          <TeamChoice />
          <nav aria-label="Pages">
            <ul>
              {(operator ? [...WAYS, OPERATORS_WAY] : WAYS).map(([path, name, icon]) => (
                <li key={path}>
                  <a href={path} aria-current={props.path.startsWith(path) ? 'page' : undefined}>
                    <Icon name={icon} />
                    {name}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
          <div class="side-foot">
            <ThemeChoice />
            <p class="who">
              <a href="/account" aria-current={props.path === '/account' ? 'page' : undefined}>
                {user.name}
              </a>
              <Button small onClick={leave}>
                Sign out
              </Button>
            </p>
          </div>
        </div>
      </header>
      <main id="page" tabIndex={-1}>
        {team.role === 'viewer' && (
          <p class="note" role="note">
            You are a viewer of {team.slug || 'no team'}: you see lists, settings and logs, but change nothing and enter no sandbox.
          </p>
        )}
        {props.children}
      </main>
    </div>
  )
}

/** Keeps the frame when a page cannot draw an answer, for example that of a newer service. */
function Guarded(props: { children: ComponentChildren }) {
  const [error] = useErrorBoundary(failure => window.reportError(failure))
  if (error === undefined) return <>{props.children}</>
  return (
    <div class="problem" role="alert">
      <p>This page has failed. If the console was updated meanwhile, load the page again.</p>
      <Button onClick={() => location.reload()}>Load again</Button>
    </div>
  )
}

/** Somebody who is not signed in sees the sign-in, and then the page of the address. */
function SignedIn() {
  const place = usePlace()
  const user = useStore(me)
  const out = useStore(signedOut)
  const [error, setError] = useState<unknown>(null)
  const load = (): void => {
    setError(null)
    loadMe().catch((failure: unknown) => {
      if (!(failure instanceof ApiError && failure.status === 401)) setError(failure)
    })
  }
  useEffect(() => {
    if (!user) load()
  }, [])
  useFreshMe()
  if (error) {
    return (
      <main class="alone">
        <h1>sandlot</h1>
        <Problem error={error} />
        <Button kind="primary" onClick={load}>
          Try again
        </Button>
      </main>
    )
  }
  if (out === 'left' || (out === 'ended' && !user)) return <SignIn left={out === 'left'} />
  if (!user) return <Loading />
  const found = routed(place.pathname)
  return (
    <>
      <Frame key={user.user.id} path={place.pathname}>
        <Guarded key={keyOf(place.pathname)}>{found ? <found.Page parts={found.parts} /> : <Nowhere />}</Guarded>
      </Frame>
      {out === 'ended' && <SignInAgain />}
    </>
  )
}

/** Tabs of one sandbox are one page: what runs in them goes on from tab to tab. */
function keyOf(path: string): string {
  return path.split('/').slice(0, path.startsWith('/operator') ? 2 : 3).join('/')
}

export function App() {
  const place = usePlace()
  const user = useStore(me)
  const out = useStore(signedOut)
  useEffect(() => {
    if (out !== 'no') forgetAccess()
  }, [out])
  useEffect(() => {
    // What /sign-in says stays until somebody is signed in.
    const here = returnPath(place.pathname) !== place.pathname && (user !== null || place.pathname !== '/sign-in')
    if (here) navigate(ownPath(place.searchParams.get('return')), true)
  }, [place.pathname, user])
  return (
    <>
      {place.pathname === '/invite' ? <Invite /> : place.pathname === '/join' ? <Join /> : <SignedIn />}
      <Questions />
      <Sayings />
    </>
  )
}
