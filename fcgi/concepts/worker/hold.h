/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds: a process stops or deletes the copy of an object on a host, without a transaction that is
 * open meanwhile. Until the end of the hold, no operation begins to use that copy, and no move
 * brings another one to that host:
 *
 *   in a transaction with the object's row locked: check that the copy may go, hold_take()
 *   without a transaction:                         ask the host, hold_end()
 *
 * A hold is a row of `leases`. If its process dies, the hold ends by its time.
 */
#pragma once

#include "worker/worker.h"

/* In a transaction that has locked the object's row: hold its copy on a host. act_ms: the longest
 * time that the host is asked. Errors: those of hold_check(). */
int hold_take(struct worker *worker, uint32_t host_id, const char *id, unsigned act_ms,
              struct error **err);

/* After a transaction with hold_take() has failed: return whether another process holds the copy
 * and does the work. Then *err is cleared. */
static inline bool hold_is_of_another(struct error **err)
{
    return error_clear_if(err, ERR_SANDBOX_BUSY);
}

/* In a transaction that has locked the object's row: check that no other process holds its copy on
 * a host. Errors: ERR_SANDBOX_BUSY. */
int hold_check(struct db *db, uint32_t host_id, const char *id, struct error **err);

/* End a hold. failure: of the host, or NULL. If the host may still be at work, the hold ends by its
 * time. */
void hold_end(struct worker *worker, uint32_t host_id, const char *id, const struct error *failure);
