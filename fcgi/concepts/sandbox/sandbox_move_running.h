/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sandbox that runs goes to another host: it is paused with its memory, moved, and resumed there,
 * under the deadline that it had. A client sees what a pause does. What is done next is told by its
 * row and by how far its move says it is, so that any dispatcher can go on with it. A client who
 * pauses or deletes it meanwhile wins; one who resumes it waits.
 */
#pragma once

#include "moving/moving.h"

extern const struct move_start sandbox_move_running_start;

/* Go on with one that was taken, as far as it goes now. */
int sandbox_move_running(struct moving *moving, struct error **err);
