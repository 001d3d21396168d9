/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/agent_refresh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/pool.h"
#include "runtime/agent_client.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_row.h"

enum {
    /* The next round finds agents beyond this number. */
    RESTARTED_MAX = 256,
    /* The time that a guest needs to reboot and start its agent. */
    START_MOST_MS = 30000,
    START_AGAIN_MS = 50,
    IDLE_MS = 500,
    /* The time for one answer, and for one agent to accept its secret. One process asks all agents
     * in turn. A slower agent is asked again. */
    ASK_MS = 200,
    GREET_MS = 500,
    /* The teams whose waiting times are remembered. */
    TEAMS_MAX = 64,
    FORGET_MS = 60000,
};

struct restarted {
    char instance_name[INSTANCE_NAME_SIZE];
    char id[ID_SIZE];    /* of its sandbox; "": not known yet */
    uint64_t team;       /* pool_tenant() of its team's id */
    int64_t give_up_ms;  /* monotonic, like again_at_ms */
    int64_t again_at_ms; /* do not ask before this time */
};

/* How long the agents of a team have kept this process waiting; forgotten after FORGET_MS. */
struct team_time {
    uint64_t team;
    int64_t waited_ms;
};

struct agent_refresh {
    struct worker *worker;
    struct restarted restarted[RESTARTED_MAX];
    size_t restarted_count;
    struct team_time times[TEAMS_MAX];
    int64_t forget_at_ms; /* monotonic */
};

struct agent_refresh *agent_refresh_new(struct worker *worker)
{
    struct agent_refresh *refresh = xcalloc(1, sizeof *refresh);
    refresh->worker = worker;
    return refresh;
}

void agent_refresh_free(struct agent_refresh *refresh)
{
    free(refresh);
}

/* Give an agent its secret and environment if it has lost them. *answered: the agent has both now,
 * or the sandbox does not run. */
static int reinitialise(struct worker *worker, const char *id, bool *answered, struct error **err)
{
    work_auto work = {.worker = worker, .agent_until = deadline_in_ms(ASK_MS + GREET_MS)};
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    bool knows = true;
    *answered = true;
    if (sandbox_get(worker->db, id, &work.sandbox, err) < 0 ||
        work.sandbox.state != SANDBOX_READY || work_know_agent(&work, &at, secret, err) < 0)
        return *err ? -1 : 0;
    int result = agent_knows(&at, secret, work_agent_deadline(&work, ASK_MS), &knows, err);
    mem_wipe(secret, sizeof secret);
    *answered = result == 0;
    if (result < 0 || knows)
        return result;
    log_info("the agent of a sandbox restarted", LOG_STR("sandbox", id));
    work_greet_agent(&work);
    return 0;
}

/* --- after a reboot --- */

static size_t count_of_team(const struct agent_refresh *refresh, uint64_t team)
{
    size_t count = 0;
    for (size_t i = 0; i < refresh->restarted_count; i++)
        count += refresh->restarted[i].team == team;
    return count;
}

/* Drop an agent of the team with the most entries; the next round asks it. */
static void drop_one(struct agent_refresh *refresh)
{
    size_t most = 0, at = 0;
    for (size_t i = 0; i < refresh->restarted_count; i++) {
        size_t count = count_of_team(refresh, refresh->restarted[i].team);
        if (count <= most)
            continue;
        most = count;
        at = i;
    }
    refresh->restarted[at] = refresh->restarted[--refresh->restarted_count];
}

void agent_refresh_restarted(struct agent_refresh *refresh, const char *instance_name)
{
    int64_t give_up_ms = clock_monotonic_ms() + START_MOST_MS;
    for (size_t i = 0; i < refresh->restarted_count; i++)
        if (!strcmp(refresh->restarted[i].instance_name, instance_name)) {
            refresh->restarted[i].give_up_ms = give_up_ms;
            return; /* a guest that reboots repeatedly has one entry */
        }
    if (refresh->restarted_count == RESTARTED_MAX)
        drop_one(refresh);
    struct restarted *one = &refresh->restarted[refresh->restarted_count++];
    *one = (struct restarted){.give_up_ms = give_up_ms};
    snprintf(one->instance_name, sizeof one->instance_name, "%s", instance_name);
}

/* Return the entry of a team. A new team replaces the one that has waited least. */
static struct team_time *time_of(struct agent_refresh *refresh, uint64_t team)
{
    struct team_time *least = refresh->times;
    for (size_t i = 0; i < TEAMS_MAX; i++) {
        if (refresh->times[i].team == team)
            return &refresh->times[i];
        if (refresh->times[i].waited_ms < least->waited_ms)
            least = &refresh->times[i];
    }
    *least = (struct team_time){.team = team};
    return least;
}

static int64_t waited_ms(const struct agent_refresh *refresh, uint64_t team)
{
    for (size_t i = 0; i < TEAMS_MAX; i++)
        if (refresh->times[i].team == team)
            return refresh->times[i].waited_ms;
    return 0;
}

static void forget_times(struct agent_refresh *refresh, int64_t now_ms)
{
    if (now_ms < refresh->forget_at_ms)
        return;
    memset(refresh->times, 0, sizeof refresh->times);
    refresh->forget_at_ms = now_ms + FORGET_MS;
}

/* Return the next agent that is due, or NULL. It is one of the team that has kept this process
 * waiting least, so silent agents of one team do not delay another team's. */
static struct restarted *next_restarted(struct agent_refresh *refresh, int64_t now_ms)
{
    struct restarted *next = NULL;
    for (size_t i = 0; i < refresh->restarted_count; i++) {
        struct restarted *one = &refresh->restarted[i];
        if (one->again_at_ms <= now_ms &&
            (!next || waited_ms(refresh, one->team) < waited_ms(refresh, next->team)))
            next = one;
    }
    return next;
}

/* Find the sandbox of an instance. Returns false without err when the instance has no sandbox, and
 * with err when it cannot be found now. */
static bool identify(struct agent_refresh *refresh, struct restarted *one, struct error **err)
{
    struct db *db = refresh->worker->db;
    enum sandbox_state state;
    sandbox_auto sandbox = {0};
    if (*one->id)
        return true;
    if (sandbox_row_of_instance(db, 0, one->instance_name, one->id, &state, err) < 0 || !*one->id ||
        sandbox_get(db, one->id, &sandbox, err) < 0)
        return false;
    one->team = pool_tenant(sandbox.team_id);
    return true;
}

/* Refresh one agent. Returns whether it is finished. */
static bool refresh_restarted(struct agent_refresh *refresh, struct restarted *one)
{
    error_auto err = NULL;
    bool answered = false;
    int64_t started_ms = clock_monotonic_ms();
    reinitialise(refresh->worker, one->id, &answered, &err);
    int64_t now_ms = clock_monotonic_ms();
    time_of(refresh, one->team)->waited_ms += now_ms - started_ms;
    if (!err && answered)
        return true;
    one->again_at_ms = now_ms + START_AGAIN_MS;
    if (now_ms < one->give_up_ms)
        return false;
    log_warning("cannot initialise the agent of a rebooted instance; giving up, because it did not "
                "answer in time",
                LOG_STR("instance", one->instance_name), LOG_ERROR(err));
    return true;
}

static void drop_restarted(struct agent_refresh *refresh, struct restarted *one)
{
    *one = refresh->restarted[--refresh->restarted_count];
}

/* Find the sandboxes and teams of new entries, and drop instances without a sandbox. */
static void identify_all(struct agent_refresh *refresh)
{
    for (size_t i = refresh->restarted_count; i-- > 0;) {
        struct restarted *one = &refresh->restarted[i];
        error_auto err = NULL;
        if (!identify(refresh, one, &err) && (!err || clock_monotonic_ms() >= one->give_up_ms))
            drop_restarted(refresh, one);
    }
}

unsigned agent_refresh_work(struct agent_refresh *refresh)
{
    int64_t now_ms = clock_monotonic_ms();
    forget_times(refresh, now_ms);
    identify_all(refresh);
    struct restarted *one = next_restarted(refresh, now_ms);
    if (one && *one->id) {
        if (refresh_restarted(refresh, one))
            drop_restarted(refresh, one);
        return 0;
    }
    return refresh->restarted_count ? START_AGAIN_MS : IDLE_MS;
}
