/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the clean-up asks of the database; for cleanup.c only. */
#pragma once

#include "sandbox/cleanup.h"

#define CLEANUP_BATCH 1000 /* sandboxes that one question names at most */

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
