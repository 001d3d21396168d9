/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/agent_refresh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "runtime/agent_client.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_row.h"

enum {
    /* More at once are found by the next round. */
    RESTARTED_MAX = 256,
    /* How long the agent of a guest that has rebooted may take to come. */
    START_MOST_MS = 30000,
    START_AGAIN_MS = 50,
    IDLE_MS = 500,
};

struct restarted {
    char instance_name[INSTANCE_NAME_SIZE];
    int64_t give_up_ms; /* monotonic */
};

struct agent_refresh {
    struct worker *worker;
    struct restarted restarted[RESTARTED_MAX];
    size_t restarted_count;
    struct sandbox_ready *round; /* still to be asked */
    size_t round_count;
};

struct agent_refresh *agent_refresh_new(struct worker *worker)
{
    struct agent_refresh *refresh = xcalloc(1, sizeof *refresh);
    refresh->worker = worker;
    return refresh;
}

void agent_refresh_free(struct agent_refresh *refresh)
{
    free(refresh->round);
    free(refresh);
}

/* *answered: it knows what it should, now or from before, or there is nobody to tell. */
static int reinitialise(struct worker *worker, const char *id, bool *answered, struct error **err)
{
    work_auto work = {.worker = worker};
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    bool knows = true;
    *answered = true;
    if (sandbox_get(worker->db, id, &work.sandbox, err) < 0 ||
        work.sandbox.state != SANDBOX_READY || work_find_agent(&work, &at, err) < 0 ||
        agent_secret(worker->ring, work.sandbox.instance_name, work.sandbox.agent_key_id, secret,
                     err) < 0)
        return *err ? -1 : 0;
    int result = agent_knows(&at, secret, 0, &knows, err);
    mem_wipe(secret, sizeof secret);
    *answered = result == 0;
    if (result < 0 || knows)
        return result;
    log_info("agent restarted", LOG_STR("sandbox", id));
    work_greet_agent(&work);
    return 0;
}

/* --- after a reboot --- */

void agent_refresh_restarted(struct agent_refresh *refresh, const char *instance_name)
{
    if (refresh->restarted_count == RESTARTED_MAX)
        return;
    struct restarted *one = &refresh->restarted[refresh->restarted_count++];
    snprintf(one->instance_name, sizeof one->instance_name, "%s", instance_name);
    one->give_up_ms = clock_monotonic_ms() + START_MOST_MS;
}

/* Whether it needs no more attention. */
static bool refresh_restarted(struct agent_refresh *refresh, const struct restarted *one)
{
    struct db *db = refresh->worker->db;
    error_auto err = NULL;
    char id[ID_SIZE];
    enum sandbox_state state;
    bool answered = false;
    if (sandbox_row_of_instance(db, 0, one->instance_name, id, &state, &err) == 0 &&
        (!*id || reinitialise(refresh->worker, id, &answered, &err) == 0) && (answered || !*id))
        return true;
    if (clock_monotonic_ms() < one->give_up_ms)
        return false;
    log_warning("agent does not answer after a reboot", LOG_STR("instance", one->instance_name),
                LOG_ERROR(err));
    return true;
}

/* --- the round --- */

static int add_to_round(void *context, const struct host *host, struct error **err)
{
    struct agent_refresh *refresh = context;
    autofree struct sandbox_ready *ready = NULL;
    size_t count = 0;
    if (sandbox_row_ready_on_host(refresh->worker->db, host->id, &ready, &count, err) < 0)
        return -1;
    refresh->round =
        xreallocarray(refresh->round, refresh->round_count + count + 1, sizeof *refresh->round);
    if (count)
        memcpy(&refresh->round[refresh->round_count], ready, count * sizeof *ready);
    refresh->round_count += count;
    return 0;
}

int agent_refresh_begin_round(struct agent_refresh *refresh, struct error **err)
{
    refresh->round_count = 0;
    return hosts_each(refresh->worker->db, add_to_round, refresh, NULL, err);
}

unsigned agent_refresh_work(struct agent_refresh *refresh)
{
    for (size_t i = refresh->restarted_count; i-- > 0;)
        if (refresh_restarted(refresh, &refresh->restarted[i]))
            refresh->restarted[i] = refresh->restarted[--refresh->restarted_count];
    if (refresh->round_count) {
        /* One that does not answer, or is gone by now, is none of this. */
        error_auto ignored = NULL;
        bool answered;
        reinitialise(refresh->worker, refresh->round[--refresh->round_count].id, &answered,
                     &ignored);
    }
    if (refresh->round_count)
        return 0;
    return refresh->restarted_count ? START_AGAIN_MS : IDLE_MS;
}
