/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows and times for the clean-up; for cleanup*.c only. */
#pragma once

#include "dispatcher/cleanup.h"

#define CLEANUP_BATCH   1000 /* rows of one query */
#define CLEANUP_OF_TEAM 100  /* of these, from one team over its limit */
#define CLEANUP_MOST_MS 2000 /* for each kind of candidates; the process has other work too */
#define CLEANUP_HOUR_MS INT64_C(3600000)
#define CLEANUP_DAY_MS  (24 * CLEANUP_HOUR_MS)

/* Sandboxes that may be affected, oldest first. The caller frees *candidates, and decides about
 * each one with its row locked. */
struct cleanup_candidate {
    char id[ID_SIZE];
};

/* List sandboxes of teams with the plan that stopped before a time and have no warning. */
int cleanup_row_old(struct db *db, const char *plan, int64_t stopped_before_ms,
                    struct cleanup_candidate **candidates, size_t *count, struct error **err);
/* List the sandboxes to delete first in teams over their plan's limit; without a warning. A team
 * has CLEANUP_OF_TEAM at most. */
int cleanup_row_excess(struct db *db, struct cleanup_candidate **candidates, size_t *count,
                       struct error **err);
/* List sandboxes with a warning, the next deletion first. */
int cleanup_row_warned(struct db *db, struct cleanup_candidate **candidates, size_t *count,
                       struct error **err);

/* Count the team's paused sandboxes, and how many stopped before this one. */
int cleanup_row_position(struct db *db, const struct sandbox *sandbox, uint64_t *before,
                         uint64_t *stopped, struct error **err);

/* --- checkpoints, in the same way --- */

int cleanup_row_old_checkpoints(struct db *db, const char *plan, int64_t made_before_ms,
                                struct cleanup_candidate **candidates, size_t *count,
                                struct error **err);
int cleanup_row_warned_checkpoints(struct db *db, struct cleanup_candidate **candidates,
                                   size_t *count, struct error **err);
int cleanup_row_set_checkpoint(struct db *db, const char *id, int64_t cleanup_at_ms,
                               struct error **err);

/* --- all candidates --- */

typedef int cleanup_review(struct worker *worker, const char *id, struct error **err);

/* Review the candidates in their order, for CLEANUP_MOST_MS at most. One that fails rests
 * (worker/sweep_failure.h). */
int cleanup_review_all(struct worker *worker, const struct cleanup_candidate *candidates,
                       size_t count, cleanup_review *review_one, struct error **err);

/* --- times --- */

/* Return the earliest time of an object's deletion, or 0 when its warning is not due yet. The
 * object was stopped or created at since_ms. Its limit in the plan is days; 0: no limit. */
int64_t cleanup_due(const struct plan *plan, int64_t since_ms, uint32_t days, int64_t now_ms);

/* Return the end of a warning that starts now. */
int64_t cleanup_after_warning(const struct plan *plan, int64_t now_ms);

/* Return the time before which an object must be stopped or created to be due for a warning. */
int64_t cleanup_old_since(const struct plan *plan, uint32_t days, int64_t now_ms);

/* Clean up the checkpoints of all teams, as part of cleanup_sweep(). */
int cleanup_checkpoints(struct worker *worker, struct error **err);
