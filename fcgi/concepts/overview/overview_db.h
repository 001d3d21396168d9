/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures for the overview, over all teams. Errors of all functions: those of the database. */
#pragma once

#include "account/account.h"
#include "db/db.h"
#include "sandbox/sandbox.h"

/* Count sandboxes by state, without destroyed ones. */
struct state_count {
    char state[17];
    uint64_t count;
};
#define OVERVIEW_STATES_MAX 16
int overview_count_states(struct db *db, struct state_count counts[OVERVIEW_STATES_MAX],
                          unsigned *count, struct error **err);

/* Count running operations by kind. overdue: their lease has run out. */
struct operation_count {
    char kind[17];
    uint64_t running, overdue;
};
#define OVERVIEW_KINDS_MAX 16
int overview_count_operations(struct db *db, int64_t now_ms,
                              struct operation_count counts[OVERVIEW_KINDS_MAX], unsigned *count,
                              struct error **err);

/* Count ready sandboxes whose deadline is before a time. */
int overview_count_due(struct db *db, int64_t before_ms, uint64_t *count, struct error **err);

/* Count creates since since_ms by template version and size, most frequent first.
 *
 * warm: creates that got an instance of the warm pool. waiting: warm instances with the same size
 * that are ready now. */
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
/* List at most limit teams by slug, from the one after `after` ("": from the first). The caller
 * frees. */
int overview_teams(struct db *db, const char *after, unsigned limit, struct team_row **teams,
                   unsigned *count, struct error **err);

/* A sandbox as operators see it. */
struct operated_sandbox {
    char name[SANDBOX_NAME_SIZE]; /* "": none */
    char id[ID_SIZE];
    char team[SLUG_MAX + 1];
    char state[17];
    char template_slug[SLUG_MAX + 1];
    uint32_t template_version;
    uint32_t cpu, memory_mb;
    char host[64];
    char instance[64];
    uint32_t address;
    int64_t created_at_ms, deadline_at_ms; /* 0: none */
};
/* NULL: of all teams, on all hosts, from the newest. */
struct operated_filter {
    const char *team, *host;
    const char *before; /* an id */
};
/* List the newest sandboxes of a filter, at most limit. The caller frees. */
int overview_sandboxes(struct db *db, const struct operated_filter *filter, uint64_t limit,
                       struct operated_sandbox **sandboxes, unsigned *count, struct error **err);
