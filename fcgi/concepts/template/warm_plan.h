/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many instances should wait, of which template version and in which size: what was asked for
 * at once lately, so that the next wave finds it, within a share of the hosts' memory that teams
 * divide; and some of the default template in any case, in the sizes of most teams' plans.
 */
#pragma once

#include "base/ulid.h"
#include "db/db.h"
#include "runtime/runtime.h"

#define WARM_DEMANDS_MAX 64
/* Between the creates of a burst there is none for a moment. */
#define WARM_QUIET_MS  500
#define WARM_SIZES_MAX 4
#define WARM_WANTS_MAX (WARM_DEMANDS_MAX + WARM_SIZES_MAX)

struct warm_want {
    char template_version_id[ID_SIZE];
    bool virtual_machine;
    bool net_admin;
    struct runtime_resources resources;
    unsigned wanted; /* by warm_plan_decide() */
    unsigned spare;  /* of those, that wait in any case and no team has asked for lately */
};

/* What one team asked for. */
struct warm_demand {
    char team_id[ID_SIZE];
    unsigned want;  /* which of the plan's */
    unsigned peak;  /* the most creates within half a minute */
    unsigned given; /* by warm_plan_decide() */
};

struct warm_plan {
    struct warm_want wants[WARM_WANTS_MAX];
    unsigned count;
    struct warm_demand demands[WARM_DEMANDS_MAX]; /* of each team the largest first */
    unsigned demand_count;
    uint64_t memory_mb; /* that waiting instances may take */
    bool busy;          /* creates are under way, or were within WARM_QUIET_MS */
    bool untold; /* Incus is to be told sizes of sandboxes (sandbox/sandbox_size.h), and was not yet
                  */
};

/* An empty plan for this share of what the hosts have. */
int warm_plan_begin(struct db *db, unsigned percent, struct warm_plan *plan, struct error **err);

/* Add what was asked for lately. */
int warm_plan_ask(struct db *db, struct warm_plan *plan, struct error **err);

/* How large root disks are in most teams' plans. */
struct warm_sizes {
    unsigned count;
    struct warm_size {
        unsigned disk_gb;
        uint64_t teams;
    } sizes[WARM_SIZES_MAX];
};
int warm_sizes_read(struct db *db, struct warm_sizes *sizes, struct error **err);

/* How many sandboxes of this size all hosts take together. */
int warm_room_read(struct db *db, const struct runtime_resources *resources, uint64_t *room,
                   struct error **err);

/* Up to `most` of `want`, in these sizes of the disk by how many teams have them, wait in any case:
 * within two thirds of plan->memory_mb. There must be room in the plan. */
void warm_plan_keep(struct warm_plan *plan, const struct warm_want *want,
                    const struct warm_sizes *sizes, uint64_t most);

/* A team asked for that, `peak` at once. There must be room in the plan. */
void warm_plan_add(struct warm_plan *plan, const char *team_id, const struct warm_want *want,
                   unsigned peak);

/* Decide `wanted` of each, within plan->memory_mb: each team has an equal part of it before any has
 * more. */
void warm_plan_decide(struct warm_plan *plan);

/* The want of that version and size, or NULL. */
struct warm_want *warm_plan_find(struct warm_plan *plan, const char *template_version_id,
                                 const struct runtime_resources *resources);
