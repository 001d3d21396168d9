/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Move a running sandbox to another host: pause it with its memory, move it, and resume it there,
 * with the deadline that it had. Clients see it paused meanwhile. Its row and the state of its move
 * name the next step, so any dispatcher can continue. A client that pauses or deletes the sandbox
 * meanwhile wins; a client that resumes it waits.
 */
#pragma once

#include "moving/moving.h"

extern const struct move_start sandbox_move_running_start;

/* Continue a move that was taken, as far as possible now. */
int sandbox_move_running(struct moving *moving, struct error **err);
