// SPDX-License-Identifier: GPL-2.0-or-later
// Which of both themes the viewer wants, or else the system. Without imports: src/theme.ts is loaded
// before the page is drawn.
export type Theme = 'system' | 'light' | 'dark'
export type ShownTheme = 'light' | 'dark'

export const THEME_KEY = 'sandlot-theme'
export const systemIsDark = window.matchMedia('(prefers-color-scheme: dark)')

export function keptTheme(): Theme {
  try {
    const value = localStorage.getItem(THEME_KEY)
    return value === 'light' || value === 'dark' ? value : 'system'
  } catch {
    return 'system'
  }
}

/** Colours follow the attribute (style/tokens.css). */
export function showTheme(chosen: Theme): ShownTheme {
  const shown = chosen === 'system' ? (systemIsDark.matches ? 'dark' : 'light') : chosen
  document.documentElement.dataset['theme'] = shown
  return shown
}
