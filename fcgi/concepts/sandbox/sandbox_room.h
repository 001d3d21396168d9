/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Room that deleted sandboxes are about to give back. The instance of a deleted sandbox takes room
 * on its host until a dispatcher has removed it, about a second later. A create or resume that
 * finds no room waits for such removals, and runs them itself, before it fails.
 */
#pragma once

#include "sandbox/lifecycle.h"

#define SANDBOX_ROOM_WAIT_MS 15000 /* limit for one request */
#define SANDBOX_ROOM_POLL_MS 50

/* Check whether deleted sandboxes are about to release the resource that a request of the team
 * lacks. ERR_NO_CAPACITY means room on a host, and ERR_SANDBOX_QUOTA_EXCEEDED the quota. */
int sandbox_room_is_coming(struct db *db, const char *team_id, const struct error *refusal,
                           bool *coming, struct error **err);

/* Remove the instance of one deleted sandbox; if no removal is due, wait SANDBOX_ROOM_POLL_MS for
 * the removals of others. The caller then tries again. */
int sandbox_room_step(struct worker *worker, struct error **err);
