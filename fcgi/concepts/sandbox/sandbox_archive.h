/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sandboxes that are paused, into the archive, and out of it again. */
#pragma once

#include "archive/archive_work.h"
#include "sandbox/lifecycle_steps.h"

archive_look sandbox_archive_look;

/* Before the instance of a stopped sandbox starts, is copied or moves: where its host does not have
 * it, or is not the one that had it, it is fetched from the archive. Needs work_open_runtime().
 * Errors: ERR_SANDBOX_NOT_STARTABLE (the copy is gone or damaged), those of the storage. */
int work_fetch_archived(struct work *work, struct error **err);

/* Whether its next start fetches it, or the one in hand does, by its rows: its host was promised
 * it.
 */
int sandbox_is_fetched(const struct settings *settings, struct db *db,
                       const struct sandbox *sandbox, bool *fetched, struct error **err);

/* A stopped sandbox of a lost host that is in the archive is another host's from now on. *gone: it
 * is; otherwise it is on no lost host, or in no archive. Errors: ERR_NO_CAPACITY. */
int sandbox_leave_lost_host(struct worker *worker, const char *id, bool *gone, struct error **err);

/* For the dispatcher: so does one of all that can, without being asked for; it is fetched when it
 * is wanted. *worked: there was one. */
int sandbox_leave_lost_next(struct worker *worker, bool *worked, struct error **err);

/* For the dispatcher, now and then: of hosts whose pools are fuller than archive_evict_percent some
 * paused sandboxes go that are in the archive; their room stays promised to them. */
int sandbox_evict(struct worker *worker, struct error **err);

/* --- rows --- */

/* Some of those that are in the archive and whose host is lost, at most limit; each team has its
 * turn. */
int sandbox_row_on_lost_host(struct db *db, unsigned limit, char (*ids)[ID_SIZE], unsigned *count,
                             struct error **err);

/* Some that are to be removed from hosts whose pools are fuller than that, at most limit, the first
 * first. What was removed since a pool was measured counts. */
int sandbox_row_evictable(struct db *db, unsigned percent, unsigned limit, char (*ids)[ID_SIZE],
                          unsigned *count, struct error **err);
