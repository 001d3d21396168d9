/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A checkpoint goes to another host, with its memory if it has one. It can be used all the while:
 * where it is until its row names the other host, and what is made from it then is let finish.
 */
#pragma once

#include "moving/moving.h"

extern const struct mover checkpoint_mover;

/* Begin to move one of a host that is being emptied; *begun: there was one that could. */
int checkpoint_move_leaving(struct worker *worker, bool *begun, struct error **err);

/* Its host is full: have it moved to one with room for a sandbox of this size, and wait until it is
 * there, at most until give_up_ms (monotonic). *moved: it is. */
int checkpoint_move_for_room(struct worker *worker, const char *id,
                             const struct runtime_resources *resources, int64_t give_up_ms,
                             bool *moved, struct error **err);

extern const struct db_statement_list checkpoint_move_statements;
