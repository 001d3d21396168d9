// SPDX-License-Identifier: GPL-2.0-or-later
// Who is signed in, and the team that the pages show.
import { useEffect } from 'preact/hooks'
import { api, signedOut, type Schemas } from './client'
import { forgetAccess } from './dataplane'
import { Store, useStore } from './store'

export type Role = Schemas['Role']
export type Me = Schemas['Me']
type TeamOfMine = Pick<Me['teams'][number], 'slug' | 'plan' | 'personal' | 'role'>

const TEAM_KEY = 'sandlot-team'

export const me = new Store<Me | null>(null)
const teamSlug = new Store<string>('')

function keptTeam(): string {
  try {
    return localStorage.getItem(TEAM_KEY) ?? ''
  } catch {
    return ''
  }
}

export function chooseTeam(slug: string): void {
  teamSlug.set(slug)
  try {
    localStorage.setItem(TEAM_KEY, slug)
  } catch {
    // Not kept: the default team next time.
  }
}

function setMe(answer: Me): void {
  const { teams } = answer
  if (me.value && me.value.user.id !== answer.user.id) forgetAccess()
  me.set(answer)
  signedOut.set('no')
  const wanted = [teamSlug.value, keptTeam(), answer.default_team ?? ''].find(slug =>
    teams.some(team => team.slug === slug),
  )
  teamSlug.set(wanted ?? teams[0]?.slug ?? '')
}

/** Reads the signed-in user; fails with 401 without a sign-in. */
export async function loadMe(): Promise<void> {
  setMe(await api.get('/v1/me'))
}

/** In another tab, another user may have signed in, and an owner elsewhere may have changed a role. */
export function useFreshMe(): void {
  useEffect(() => {
    const look = (): void => {
      const before = me.value
      const take = (answer: Me): void => {
        if (me.value === before) setMe(answer)
      }
      if (before) api.get('/v1/me').then(take, () => undefined)
    }
    window.addEventListener('focus', look)
    return () => window.removeEventListener('focus', look)
  }, [])
}

export async function signIn(name: string, password: string, code: string): Promise<void> {
  await api.post('/v1/login', { body: { name, password, ...(code === '' ? {} : { code }) } })
  await loadMe()
}

/** As the site's own proxy says who is there. */
export async function signInByProxy(): Promise<void> {
  await api.post('/v1/login/header')
  await loadMe()
}

export async function acceptInvite(token: string, password: string): Promise<void> {
  await api.post('/v1/invites/accept', { body: { token, password } })
  await loadMe()
}

/** Makes a user with a link into a team. */
export async function signUp(token: string, name: string, password: string): Promise<void> {
  await api.post('/v1/links/sign-up', { body: { token, name, password } })
  await loadMe()
}

export async function signOut(): Promise<void> {
  await api.post('/v1/logout')
  me.set(null)
  signedOut.set('left')
}

export function useMe(): Me {
  const value = useStore(me)
  if (!value) throw new Error('a page was drawn before its user was known')
  return value
}

export function useTeam(): TeamOfMine {
  const { teams } = useMe()
  const slug = useStore(teamSlug)
  return (
    teams.find(team => team.slug === slug) ??
    teams[0] ?? { slug: '', plan: '', personal: false, role: 'viewer' }
  )
}

/** Chooses the team of an object that a link has opened: the page's other links are then of the same team. */
export function useTeamOf(slug: string | undefined): void {
  useEffect(() => {
    if (slug !== undefined && me.value?.teams.some(team => team.slug === slug)) chooseTeam(slug)
  }, [slug])
}

/** Whether the user may change what belongs to a team; the service has the last word. */
export function useMayWrite(slug?: string): boolean {
  const { teams } = useMe()
  const shown = useTeam()
  const team = slug === undefined ? shown : teams.find(other => other.slug === slug)
  return team !== undefined && team.role !== 'viewer'
}
