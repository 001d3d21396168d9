/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plan how many instances the warm pool has, of which template version and size. Recent waves of
 * creates decide, so that the next wave finds as many; teams share a part of the hosts' memory for
 * this. Some instances of the default template are kept without demand, in the sizes of most teams'
 * plans.
 */
#pragma once

#include "base/ulid.h"
#include "db/db.h"
#include "runtime/runtime.h"

#define WARM_DEMANDS_MAX 64
/* Between the creates of a burst there are short pauses. */
#define WARM_QUIET_MS  500
#define WARM_SIZES_MAX 4
/* Instances that start from memory have programs of a team, which run without a sandbox. A team has
 * at most as many. */
#define WARM_RESTORED_MOST 2
#define WARM_WANTS_MAX     (WARM_DEMANDS_MAX + WARM_SIZES_MAX)

struct warm_want {
    char template_version_id[ID_SIZE];
    char owner[ID_SIZE]; /* the team that has made the template; "": the deployment */
    bool virtual_machine;
    bool net_admin;
    struct runtime_resources resources;
    char memory_id[ID_SIZE]; /* the checkpoint from whose memory it starts; "": from its disk */
    unsigned wanted;         /* set by warm_plan_keep() and warm_plan_decide() */
    unsigned spare;          /* of these, kept without demand and not yet given to a team */
};

/* The demand of one team. */
struct warm_demand {
    char team_id[ID_SIZE];
    unsigned want;  /* index of the plan's wants */
    unsigned peak;  /* the most creates within half a minute */
    unsigned given; /* set by warm_plan_decide() */
};

struct warm_plan {
    struct warm_want wants[WARM_WANTS_MAX];
    unsigned count;
    struct warm_demand demands[WARM_DEMANDS_MAX]; /* the largest of each team first */
    unsigned demand_count;
    uint64_t memory_mb; /* limit for the warm pool */
    uint64_t there;     /* ready and starting instances, of all wants */
    bool busy;          /* creates are running, or were within WARM_QUIET_MS */
    bool untold;        /* sizes are still to be updated in Incus (sandbox/sandbox_size.h) */
};

/* Begin an empty plan with this share of the hosts' memory. */
int warm_plan_begin(struct db *db, unsigned percent, struct warm_plan *plan, struct error **err);

/* Add the recent demand. */
int warm_plan_ask(struct db *db, struct warm_plan *plan, struct error **err);

/* The root disk sizes of most teams' plans. */
struct warm_sizes {
    unsigned count;
    struct warm_size {
        unsigned disk_gb;
        uint64_t teams;
    } sizes[WARM_SIZES_MAX];
};
int warm_sizes_read(struct db *db, struct warm_sizes *sizes, struct error **err);

/* Count how many sandboxes of this size all hosts take together. */
int warm_room_read(struct db *db, const struct runtime_resources *resources, uint64_t *room,
                   struct error **err);

/* Keep up to `most` of `want` without demand, within two thirds of plan->memory_mb (0: no limit).
 * They are divided among the disk sizes by their numbers of teams. There must be room in the plan.
 */
void warm_plan_keep(struct warm_plan *plan, const struct warm_want *want,
                    const struct warm_sizes *sizes, uint64_t most);

/* Add the demand of a team, `peak` at once. There must be room in the plan. */
void warm_plan_add(struct warm_plan *plan, const char *team_id, const struct warm_want *want,
                   unsigned peak);

/* Set `wanted` of each want, within plan->memory_mb. Each team gets an equal part before any team
 * gets more. */
void warm_plan_decide(struct warm_plan *plan);

/* Find the want with that version and size, or NULL. */
struct warm_want *warm_plan_find(struct warm_plan *plan, const char *template_version_id,
                                 const struct runtime_resources *resources);
