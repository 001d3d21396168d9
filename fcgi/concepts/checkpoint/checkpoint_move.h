/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Move a checkpoint to another host, with its memory if it has one. It stays usable during the
 * move: on the old host until its row names the new one. Things that are being made from it on the
 * old host are finished there. A checkpoint of a lost host is fetched from the archive.
 */
#pragma once

#include "checkpoint/checkpoint.h"
#include "moving/moving.h"

extern const struct mover checkpoint_mover;
extern const struct move_start checkpoint_move_start;

/* Start to fetch a checkpoint from the archive to its own host, which has lost it. Call it inside a
 * transaction that holds its row. Errors: ERR_SANDBOX_BUSY while it moves. */
int checkpoint_fetch_begin(struct db *db, const struct checkpoint *checkpoint, struct error **err);

/* Start to fetch a checkpoint of a lost host to another host, because a request needs it. *going:
 * the fetch was started, or it moves already. False: no other host has room, or the archive does
 * not have it. */
int checkpoint_leave_lost_host(struct worker *worker, const char *id, bool *going,
                               struct error **err);
