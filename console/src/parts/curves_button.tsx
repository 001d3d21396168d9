// SPDX-License-Identifier: GPL-2.0-or-later
// A button that shows what the sandboxes of a host or a team used over the last day. The charts load with it.
import { useState } from 'preact/hooks'
import { Button } from './basic'
import { CloseButton, Dialog } from './dialog'
import { lazy } from './lazy'

export interface CurvesOf {
  host?: string
  team?: string
}

const Curves = lazy<CurvesOf>(() => import('./curves').then(module => module.Curves))

export function CurvesButton(props: CurvesOf) {
  const [open, setOpen] = useState(false)
  const name = props.host ?? props.team ?? ''
  return (
    <>
      <Button small label={`Last day of ${name}`} onClick={() => setOpen(true)}>
        Last day
      </Button>
      {open && (
        <Dialog title={`The last day of ${name}`} wide onClose={() => setOpen(false)}>
          <Curves {...props} />
          <div class="actions end">
            <CloseButton>Close</CloseButton>
          </div>
        </Dialog>
      )}
    </>
  )
}
