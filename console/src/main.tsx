// SPDX-License-Identifier: GPL-2.0-or-later
import './style/console.css'
import { render } from 'preact'
import { App } from './app'
import { startRouter } from './lib/router'

startRouter()
const root = document.getElementById('console')
if (root) render(<App />, root)
