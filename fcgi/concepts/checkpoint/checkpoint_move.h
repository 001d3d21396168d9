/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A checkpoint goes to another host, with its memory if it has one. It can be used all the while:
 * where it is until its row names the other host, and what is made from it then is let finish. One
 * whose host is lost is fetched from the archive.
 */
#pragma once

#include "checkpoint/checkpoint.h"
#include "moving/moving.h"

extern const struct mover checkpoint_mover;
extern const struct move_start checkpoint_move_start;

/* Inside a transaction that holds its row: its host is there and has lost it, and is to have it
 * from the archive. Errors: ERR_SANDBOX_BUSY while it moves. */
int checkpoint_fetch_begin(struct db *db, const struct checkpoint *checkpoint, struct error **err);

/* Somebody wants one whose host is lost: have it fetched to another. *going: it is being; false: no
 * other host has room, or the archive does not have it. */
int checkpoint_leave_lost_host(struct worker *worker, const char *id, bool *going,
                               struct error **err);
