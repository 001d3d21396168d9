/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an overview is made of, read across all teams. */
#pragma once

#include "account/account.h"
#include "db/db.h"

/* Sandboxes that are not yet gone, by state. */
struct state_count {
    char state[17];
    uint64_t count;
};
#define OVERVIEW_STATES_MAX 16
int overview_count_states(struct db *db, struct state_count counts[OVERVIEW_STATES_MAX],
                          unsigned *count, struct error **err);

/* Operations in flight by kind; overdue: whose lease has run out. */
struct operation_count {
    char kind[17];
    uint64_t running, overdue;
    int64_t oldest_overdue_at_ms; /* when the first lease ran out; 0: none */
};
#define OVERVIEW_KINDS_MAX 16
int overview_count_operations(struct db *db, int64_t now_ms,
                              struct operation_count counts[OVERVIEW_KINDS_MAX], unsigned *count,
                              struct error **err);

/* Ready sandboxes whose deadline lies before a time. */
int overview_count_due(struct db *db, int64_t before_ms, uint64_t *count, struct error **err);

/* What was asked for lately, by template version and size: how many, how many of them got an
 * instance of the warm pool, and how many of that size wait now. Most asked for first. */
struct demand {
    char template_slug[SLUG_MAX + 1];
    uint32_t cpu, memory_mb, disk_gb;
    uint64_t creates, warm, waiting;
};
#define OVERVIEW_DEMANDS_MAX 64
int overview_demands(struct db *db, int64_t since_ms, struct demand demands[OVERVIEW_DEMANDS_MAX],
                     unsigned *count, struct error **err);

/* A team as operators see it. */
struct team_row {
    struct team team;
    uint64_t members, sandboxes, stopped_sandboxes;
    int64_t created_at_ms;
};
/* At most limit teams by slug, those behind after (""; from the first). The caller frees. */
int overview_teams(struct db *db, const char *after, unsigned limit, struct team_row **teams,
                   unsigned *count, struct error **err);
