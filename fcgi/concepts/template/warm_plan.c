/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "template/warm_plan.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The memory of a warm container on its host. A warm virtual machine takes all its memory, and a
 * container that was started from memory may. */
#define CONTAINER_MB 16
/* A size that fewer than one in so many teams have is kept only on demand. */
#define RARE 8

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

static struct warm_want *find_or_add(struct warm_plan *plan, const struct warm_want *want)
{
    struct warm_want *known = warm_plan_find(plan, want->template_version_id, &want->resources);
    if (known)
        return known;
    assert(plan->count < WARM_WANTS_MAX);
    known = &plan->wants[plan->count++];
    *known = *want;
    return known;
}

void warm_plan_add(struct warm_plan *plan, const char *team_id, const struct warm_want *want,
                   unsigned peak)
{
    assert(plan->demand_count < WARM_DEMANDS_MAX);
    struct warm_want *known = find_or_add(plan, want);
    struct warm_demand *demand = &plan->demands[plan->demand_count++];
    *demand = (struct warm_demand){.want = (unsigned)(known - plan->wants), .peak = peak};
    snprintf(demand->team_id, sizeof demand->team_id, "%s", team_id);
}

/* --- deciding --- */

static unsigned each_mb(const struct warm_want *want)
{
    bool takes_all = want->virtual_machine || *want->memory_id;
    return takes_all && want->resources.memory_mb ? want->resources.memory_mb : CONTAINER_MB;
}

static uint64_t taken_mb(const struct warm_plan *plan)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < plan->count; i++)
        sum += (uint64_t)plan->wants[i].wanted * each_mb(&plan->wants[i]);
    return sum;
}

static uint64_t given_mb(const struct warm_plan *plan, const char *team_id)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < plan->demand_count; i++)
        if (!strcmp(plan->demands[i].team_id, team_id))
            sum += (uint64_t)plan->demands[i].given * each_mb(&plan->wants[plan->demands[i].want]);
    return sum;
}

/* Count the instances that a team may still get of a want. */
static unsigned allowed(const struct warm_plan *plan, const char *team_id,
                        const struct warm_want *want)
{
    unsigned restored = 0;
    if (!*want->memory_id)
        return UINT_MAX;
    for (unsigned i = 0; i < plan->demand_count; i++)
        if (!strcmp(plan->demands[i].team_id, team_id) &&
            *plan->wants[plan->demands[i].want].memory_id)
            restored += plan->demands[i].given;
    return restored < WARM_RESTORED_MOST ? WARM_RESTORED_MOST - restored : 0;
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

static unsigned least(uint64_t a, uint64_t b)
{
    return (unsigned)(a < b ? a : b);
}

/* Give each demand its instances, within the memory for its team. Instances that are kept without
 * demand count first. */
static void give(struct warm_plan *plan, uint64_t most_of_team_mb)
{
    for (unsigned i = 0; i < plan->demand_count; i++) {
        struct warm_demand *demand = &plan->demands[i];
        struct warm_want *want = &plan->wants[demand->want];
        unsigned each = each_mb(want);
        uint64_t room_mb = left(most_of_team_mb, given_mb(plan, demand->team_id));
        /* add a quarter, because the next wave may be larger */
        unsigned missing = least(demand->peak + demand->peak / 4 - demand->given,
                                 allowed(plan, demand->team_id, want));
        unsigned spared = least(least(missing, want->spare), room_mb / each);
        unsigned most =
            least((room_mb / each) - spared, left(plan->memory_mb, taken_mb(plan)) / each);
        unsigned more = least(missing - spared, most);
        demand->given += spared + more;
        want->spare -= spared;
        want->wanted += more;
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

/* --- without demand --- */

static bool is_rare(const struct warm_size *size, uint64_t teams)
{
    return size->teams < teams / RARE;
}

void warm_plan_keep(struct warm_plan *plan, const struct warm_want *want,
                    const struct warm_sizes *sizes, uint64_t most)
{
    uint64_t teams = 0, counted = 0, kept = 0;
    if (plan->memory_mb)
        most = least(most, plan->memory_mb * 2 / 3 / each_mb(want));
    for (unsigned i = 0; i < sizes->count; i++)
        teams += sizes->sizes[i].teams;
    for (unsigned i = 0; i < sizes->count; i++)
        counted += is_rare(&sizes->sizes[i], teams) ? 0 : sizes->sizes[i].teams;
    /* The most frequent size gets the remainder of the rounding. */
    for (unsigned i = sizes->count; i-- > 0;) {
        const struct warm_size *size = &sizes->sizes[i];
        struct warm_want sized = *want;
        sized.resources.disk_gb = size->disk_gb;
        uint64_t share = counted ? most * size->teams / counted : 0;
        uint64_t part = i ? share : most - kept;
        if (!part || is_rare(size, teams))
            continue;
        struct warm_want *known = find_or_add(plan, &sized);
        known->wanted += (unsigned)part;
        known->spare += (unsigned)part;
        kept += part;
    }
}
