/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Room that is being given back. The instance of a deleted sandbox holds its host's room until it
 * is removed, which takes a second or so. A create or resume that is refused for want of that room
 * waits for it, and removes instances itself meanwhile, instead of failing.
 */
#pragma once

#include "sandbox/lifecycle.h"

#define SANDBOX_ROOM_WAIT_MS 15000 /* of one request */
#define SANDBOX_ROOM_POLL_MS 50

/* Whether deleted sandboxes are about to give back the kind of thing that a request of the team was
 * refused for: room on a host (ERR_NO_CAPACITY), or the team's quota. */
int sandbox_room_is_coming(struct db *db, const char *team_id, const struct error *refusal,
                           bool *coming, struct error **err);

/* Take one step: remove the instance of one deleted sandbox, or let others do it for a moment. The
 * caller then tries again. */
int sandbox_room_step(struct worker *worker, struct error **err);

/* Remove the instance of one deleted sandbox, if a removal is due. *worked: one was. */
int sandbox_remove_next(struct worker *worker, bool *worked, struct error **err);

extern const struct db_statement_list sandbox_room_statements;
