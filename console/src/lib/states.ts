// SPDX-License-Identifier: GPL-2.0-or-later
// The words for the states of a sandbox; fcgi/base/state_words.def has those that differ from the value.
import type { Schemas } from './client'

export const STATE_WORDS: Record<Schemas['SandboxState'], string> = {
  creating: 'creating',
  ready: 'running',
  restoring: 'resuming',
  checkpointing: 'checkpointing',
  stopping: 'pausing',
  stopped: 'paused',
  copying: 'copying',
}

export const stateWord = (value: string): string =>
  (STATE_WORDS as Record<string, string>)[value] ?? value.replace(/_/g, ' ')
