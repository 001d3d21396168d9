// SPDX-License-Identifier: GPL-2.0-or-later
// The viewer's own choice between light and dark. The page waits for this script, which is small, so that
// nothing is drawn in the other theme first.
import { keptTheme, showTheme } from './lib/theme_choice'

showTheme(keptTheme())
