/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an administrator wants to see across all teams: reads only. */
#pragma once

#include "ctl/ctl.h"

/* Sandboxes that are not yet gone, by state. */
struct ctl_state_count {
    char state[17];
    uint64_t count;
};
#define CTL_STATES_MAX 16
int ctl_db_count_states(struct db *db, struct ctl_state_count counts[CTL_STATES_MAX],
                        unsigned *count, struct error **err);

/* Operations in flight by kind; overdue: whose lease has run out. */
struct ctl_operation_count {
    char kind[17];
    uint64_t running, overdue;
    int64_t oldest_overdue_at_ms; /* when the first lease ran out; 0: none */
};
#define CTL_KINDS_MAX 16
int ctl_db_count_operations(struct db *db, int64_t now_ms,
                            struct ctl_operation_count counts[CTL_KINDS_MAX], unsigned *count,
                            struct error **err);

/* Ready sandboxes whose deadline lies before a time. */
int ctl_db_count_due(struct db *db, int64_t before_ms, uint64_t *count, struct error **err);

/* What was asked for lately, by template version and size: how many, how many of them got an
 * instance of the warm pool, and how many of that size wait now. Most asked for first. */
struct ctl_demand {
    char template_slug[SLUG_MAX + 1];
    uint32_t cpu, memory_mb, disk_gb;
    uint64_t creates, warm, waiting;
};
#define CTL_DEMANDS_MAX 16
int ctl_db_demands(struct db *db, int64_t since_ms, struct ctl_demand demands[CTL_DEMANDS_MAX],
                   unsigned *count, struct error **err);

struct ctl_sandbox {
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

/* Newest first; team NULL: of all. Owned by the caller. */
int ctl_db_sandboxes(struct db *db, const char *team, uint64_t limit,
                     struct ctl_sandbox **sandboxes, unsigned *count, struct error **err);

/* The latest pause or resume that ended. kind "" when there is none. */
struct ctl_outcome {
    bool found;
    bool done; /* else it failed */
    char sandbox_id[ID_SIZE];
    char last_error[513];
    char resumed_from[9]; /* of the sandbox, at its latest resume */
    int64_t at_ms;
};
int ctl_db_latest_outcome(struct db *db, const char *kind, struct ctl_outcome *outcome,
                          struct error **err);

/* Pauses and resumes that lost the memory they were to keep, since a time: how many, and the
 * latest. */
struct ctl_lost_memory {
    uint64_t count;
    char kind[17];
    char sandbox_id[ID_SIZE];
    char reason[513];
    int64_t at_ms;
};
int ctl_db_lost_memory(struct db *db, int64_t since_ms, struct ctl_lost_memory *lost,
                       struct error **err);

/* Operations under way that were begun so many times or more, the worst first. */
struct ctl_stuck {
    char kind[17];
    char sandbox_id[ID_SIZE];
    char host[64];
    uint32_t attempts;
    char last_error[513];
};
int ctl_db_stuck(struct db *db, unsigned least_attempts, struct ctl_stuck *list, unsigned limit,
                 unsigned *count, struct error **err);

/* Instances of the warm pool. */
int ctl_db_count_warm(struct db *db, uint64_t *ready, uint64_t *starting, struct error **err);
