/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Store paused sandboxes in the archive, and fetch them back. */
#pragma once

#include "archive/archive_work.h"
#include "sandbox/lifecycle_steps.h"

archive_look sandbox_archive_look;

/* Fetch a paused sandbox from the archive if its host does not have the instance, or is not the
 * host that had it. Call it before the instance starts, is copied or moves. Needs
 * work_open_runtime(). Errors: ERR_SANDBOX_NOT_STARTABLE (the copy is gone or damaged), those of
 * the storage. */
int work_fetch_archived(struct work *work, struct error **err);

/* Check, by its rows, whether the sandbox's next or present start fetches it from the archive. Its
 * host has then reserved the room for it. */
int sandbox_is_fetched(const struct settings *settings, struct db *db,
                       const struct sandbox *sandbox, bool *fetched, struct error **err);

/* Give a paused sandbox of a lost host to another host, if the archive has it. Errors:
 * ERR_NO_CAPACITY.
 *
 * *gone: whether it was done; else its host is not lost, or the archive does not have it. */
int sandbox_leave_lost_host(struct worker *worker, const char *id, bool *gone, struct error **err);

/* For the dispatcher: do the same for the next such sandbox without a request. It is fetched when a
 * client resumes it. *worked: there was one. */
int sandbox_leave_lost_next(struct worker *worker, bool *worked, struct error **err);

/* In the transaction that has written the result of an operation into the row: give up the copy in
 * the archive, or keep it, if the operation has not changed the paused sandbox. */
int sandbox_archive_settle(struct db *db, const struct sandbox *row, enum sandbox_event event,
                           struct error **err);

/* For the dispatcher, now and then: evict some archived paused sandboxes from hosts whose storage
 * pools are fuller than archive_evict_percent. Their room stays reserved. */
int sandbox_evict(struct worker *worker, struct error **err);

/* --- rows --- */

/* List sandboxes that are in the archive and whose host is lost, at most limit; teams take
 * turns. */
int sandbox_row_on_lost_host(struct db *db, unsigned limit, char (*ids)[ID_SIZE], unsigned *count,
                             struct error **err);

/* List sandboxes to evict from hosts whose storage pools are fuller than percent, at most limit.
 * The team with the most bytes on its host comes first, then the oldest pause. Evictions since a
 * pool was measured count as free. */
int sandbox_row_evictable(struct db *db, unsigned percent, unsigned limit, char (*ids)[ID_SIZE],
                          unsigned *count, struct error **err);
