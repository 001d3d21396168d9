/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the clean-up is made of; for cleanup*.c only. */
#pragma once

#include "dispatcher/cleanup.h"

#define CLEANUP_BATCH   1000 /* rows that one question names at most */
#define CLEANUP_HOUR_MS INT64_C(3600000)
#define CLEANUP_DAY_MS  (24 * CLEANUP_HOUR_MS)

/* Each of these names sandboxes that may be concerned, oldest first; the decision is made with the
 * row locked. The caller frees *candidates. */
struct cleanup_candidate {
    char id[ID_SIZE];
};

/* Of teams with the plan, stopped before a time and not warned of. */
int cleanup_row_old(struct db *db, const char *plan, int64_t stopped_before_ms,
                    struct cleanup_candidate **candidates, size_t *count, struct error **err);
/* The first to go in teams that have more of them than their plan keeps, and not warned of. */
int cleanup_row_excess(struct db *db, struct cleanup_candidate **candidates, size_t *count,
                       struct error **err);
/* Those that are warned of, the next to go first. */
int cleanup_row_warned(struct db *db, struct cleanup_candidate **candidates, size_t *count,
                       struct error **err);

/* How many of the team are stopped, and how many of those were stopped before this one. */
int cleanup_row_position(struct db *db, const struct sandbox *sandbox, uint64_t *before,
                         uint64_t *stopped, struct error **err);

/* --- checkpoints, likewise --- */

int cleanup_row_old_checkpoints(struct db *db, const char *plan, int64_t made_before_ms,
                                struct cleanup_candidate **candidates, size_t *count,
                                struct error **err);
int cleanup_row_warned_checkpoints(struct db *db, struct cleanup_candidate **candidates,
                                   size_t *count, struct error **err);
int cleanup_row_set_checkpoint(struct db *db, const char *id, int64_t cleanup_at_ms,
                               struct error **err);

/* --- when --- */

/* When something that has lain there since then should go at the earliest, if it is time to warn
 * of that; else 0. */
int64_t cleanup_due(const struct plan *plan, int64_t since_ms, uint32_t days, int64_t now_ms);

/* The end of a warning that begins now. */
int64_t cleanup_after_warning(const struct plan *plan, int64_t now_ms);

/* From when on something is old enough to be warned of. */
int64_t cleanup_old_since(const struct plan *plan, uint32_t days, int64_t now_ms);

int cleanup_checkpoints(struct worker *worker, struct error **err);
