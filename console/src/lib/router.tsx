// SPDX-License-Identifier: GPL-2.0-or-later
// Pages by the path of the address; links are plain ones.
import { useLayoutEffect } from 'preact/hooks'
import { Store, useStore } from './store'

const here = (): string => location.pathname + location.search

const place = new Store(here())

export function navigate(to: string, replace = false): void {
  if (replace) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  place.set(here())
  if (!replace) window.scrollTo(0, 0)
}

export function usePlace(): URL {
  return new URL(useStore(place), location.origin)
}

/** A path of the console itself, or its first page: what an address asks to return to is not trusted. */
export function ownPath(path: string | null): string {
  if (!path?.startsWith('/') || !URL.canParse(path, location.origin)) return '/sandboxes'
  const { origin, pathname, search } = new URL(path, location.origin) // a browser skips tabs: "/\t/" begins a host
  return origin === location.origin ? pathname + search : '/sandboxes'
}

/** Pages that stand for signing in are none to come back to. */
export function returnPath(path: string): string {
  return path === '/' || path === '/login' || path === '/sign-in' ? '/sandboxes' : path
}

/** Set the title together with the page: a later effect would leave the former title for a moment. */
export function useTitle(title: string): void {
  useLayoutEffect(() => {
    document.title = title === '' ? 'sandlot' : `${title} – sandlot`
  }, [title])
}

function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const link = (event.target as Element | null)?.closest?.('a')
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return
  if (link.hash && link.pathname === location.pathname) return
  event.preventDefault()
  navigate(link.pathname + link.search)
  if (link.dataset.keepFocus === undefined) requestAnimationFrame(() => document.getElementById('page')?.focus())
}

export function startRouter(): void {
  window.addEventListener('popstate', () => place.set(here()))
  document.addEventListener('click', followLink)
}
