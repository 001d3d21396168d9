/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "template/warm_plan.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* What a container that waits takes of its host's memory; a virtual machine takes all of its own.
 */
#define CONTAINER_MB 16

struct warm_want *warm_plan_find(struct warm_plan *plan, const char *template_version_id,
                                 const struct runtime_resources *resources)
{
    for (unsigned i = 0; i < plan->count; i++) {
        struct warm_want *want = &plan->wants[i];
        if (!strcmp(want->template_version_id, template_version_id) &&
            !memcmp(&want->resources, resources, sizeof *resources))
            return want;
    }
    return NULL;
}

void warm_plan_add(struct warm_plan *plan, const char *team_id, const struct warm_want *want,
                   unsigned peak)
{
    struct warm_want *known = warm_plan_find(plan, want->template_version_id, &want->resources);
    assert(plan->demand_count < WARM_WANTS_MAX);
    if (!known) {
        known = &plan->wants[plan->count++];
        *known = *want;
    }
    struct warm_demand *demand = &plan->demands[plan->demand_count++];
    *demand = (struct warm_demand){.want = (unsigned)(known - plan->wants), .peak = peak};
    snprintf(demand->team_id, sizeof demand->team_id, "%s", team_id);
}

/* --- deciding --- */

static unsigned each_mb(const struct warm_plan *plan, const struct warm_demand *demand)
{
    const struct warm_want *want = &plan->wants[demand->want];
    return want->virtual_machine && want->resources.memory_mb ? want->resources.memory_mb
                                                              : CONTAINER_MB;
}

/* team_id NULL: by all. */
static uint64_t taken_mb(const struct warm_plan *plan, const char *team_id)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < plan->demand_count; i++)
        if (!team_id || !strcmp(plan->demands[i].team_id, team_id))
            sum += (uint64_t)plan->demands[i].given * each_mb(plan, &plan->demands[i]);
    return sum;
}

static uint64_t left(uint64_t most, uint64_t taken)
{
    return taken < most ? most - taken : 0;
}

static unsigned count_teams(const struct warm_plan *plan)
{
    unsigned teams = 0;
    for (unsigned i = 0; i < plan->demand_count; i++) {
        bool seen = false;
        for (unsigned j = 0; j < i; j++)
            seen |= !strcmp(plan->demands[i].team_id, plan->demands[j].team_id);
        teams += !seen;
    }
    return teams;
}

static void give(struct warm_plan *plan, uint64_t most_of_team_mb)
{
    for (unsigned i = 0; i < plan->demand_count; i++) {
        struct warm_demand *demand = &plan->demands[i];
        uint64_t room_mb = left(most_of_team_mb, taken_mb(plan, demand->team_id));
        uint64_t left_mb = left(plan->memory_mb, taken_mb(plan, NULL));
        uint64_t most = (room_mb < left_mb ? room_mb : left_mb) / each_mb(plan, demand);
        /* A wave is rarely the same twice. */
        unsigned missing = demand->peak + demand->peak / 4 - demand->given;
        unsigned more = missing < most ? missing : (unsigned)most;
        demand->given += more;
        plan->wants[demand->want].wanted += more;
    }
}

void warm_plan_decide(struct warm_plan *plan)
{
    unsigned teams = count_teams(plan);
    if (!teams)
        return;
    give(plan, plan->memory_mb / teams);
    give(plan, plan->memory_mb);
}
