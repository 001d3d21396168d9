// SPDX-License-Identifier: GPL-2.0-or-later
// Who is signed in, and the team that the pages show.
import { api, signedOut, type Schemas } from './client'
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

/** Asks who is signed in; fails with 401 when nobody is. */
export async function loadMe(): Promise<void> {
  const answer = await api.get('/v1/me')
  const { teams } = answer
  me.set(answer)
  signedOut.set('no')
  const wanted = [teamSlug.value, keptTeam(), answer.default_team ?? ''].find(slug =>
    teams.some(team => team.slug === slug),
  )
  teamSlug.set(wanted ?? teams[0]?.slug ?? '')
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

/** Whether the user may change what belongs to a team; the service has the last word. */
export function useMayWrite(slug?: string): boolean {
  const { teams } = useMe()
  const shown = useTeam()
  const team = slug === undefined ? shown : teams.find(other => other.slug === slug)
  return team !== undefined && team.role !== 'viewer'
}
