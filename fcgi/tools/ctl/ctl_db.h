/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries for an administrator across all teams: reads only. */
#pragma once

#include "ctl/ctl.h"
#include "sandbox/sandbox.h"

/* Something that is still on a host, and why. */
enum ctl_stays {
    CTL_STAYS_RUNS,
    CTL_STAYS_VOLUMES,
    CTL_STAYS_MACHINE,
    CTL_STAYS_MOVING,
    CTL_STAYS_WAITS,
    CTL_STAYS_NO_ROOM, /* set by the caller, which has looked for some */
    CTL_STAYS_FAILED,
    CTL_STAYS_LEFT, /* it is on another host, and its old copy is not removed yet */
    CTL_STAYS_IN_USE,
    CTL_STAYS_DELETED,
};
struct ctl_staying {
    char id[ID_SIZE];
    char name[193]; /* or "" */
    char team[SLUG_MAX + 1];
    char state[17];
    bool is_sandbox, is_volume; /* else a checkpoint, or a template that only this host has */
    enum ctl_stays why;
    char failure[513]; /* of its last move */
    uint32_t address;
    struct runtime_resources resources;
};
/* List sandboxes, then checkpoints, volumes, and templates. Owned by the caller. */
int ctl_db_staying(struct db *db, uint32_t host_id, struct ctl_staying **list, unsigned *count,
                   struct error **err);

/* Read the latest pause or resume that ended; kind "" without one. */
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

/* Find the sandbox with this name in a team. Errors: ERR_NOT_FOUND. */
int ctl_db_sandbox_named(struct db *db, const char *team_slug, const char *name, char id[ID_SIZE],
                         struct error **err);

/* Return whether the login of this program has the right to delete rows of the audit log. Deletes
 * no row. */
bool ctl_db_may_change_audit(struct db *db);

/* Read the clock of the server. */
int ctl_db_clock(struct db *db, int64_t *now_ms, struct error **err);

/* Append the `most` largest tables with their sizes, as the server estimates them. */
int ctl_db_tables(struct db *db, unsigned most, struct buffer *text, struct error **err);

/* Find the directory of the server's data, on its machine. */
int ctl_db_directory(struct db *db, char *path, size_t size, struct error **err);

/* Count instances of the warm pool. */
int ctl_db_count_warm(struct db *db, uint64_t *ready, uint64_t *starting, struct error **err);
