// SPDX-License-Identifier: GPL-2.0-or-later
import { Store } from './store'
import { THEME_KEY, keptTheme, showTheme, systemIsDark, type ShownTheme, type Theme } from './theme_choice'

export type { Theme } from './theme_choice'

export const theme = new Store<Theme>(keptTheme())

/** What is shown by now: of the two, never "system". */
export const shownTheme = new Store<ShownTheme>(showTheme(theme.value))

export function setTheme(value: Theme): void {
  theme.set(value)
  try {
    if (value === 'system') localStorage.removeItem(THEME_KEY)
    else localStorage.setItem(THEME_KEY, value)
  } catch {
    // A browser that keeps nothing: the choice holds for this page.
  }
  shownTheme.set(showTheme(value))
}

systemIsDark.addEventListener('change', () => shownTheme.set(showTheme(theme.value)))
// Another tab of the same browser.
window.addEventListener('storage', event => {
  if (event.key !== THEME_KEY && event.key !== null) return
  theme.set(keptTheme())
  shownTheme.set(showTheme(theme.value))
})
