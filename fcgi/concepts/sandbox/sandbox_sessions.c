/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_sessions.h"

#include "base/clock.h"
#include "base/log.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_network.h"
#include "sandbox/sandbox_sessions_row.h"

#define RECONNECT_MS       2000
#define RECONNECT_ASIDE_MS 500
#define LONG_MS            100

/* Without a firewall, the agent of a sandbox that is ready disconnects its clients, and then takes
 * new ones. */
static int disconnect(struct work *work, unsigned agent_ms, struct error **err)
{
    bool ended;
    if (!sandbox_has_packets(work->sandbox.state))
        return 0;
    if (sandbox_end_connections(work->worker, &work->sandbox, &ended, err) < 0)
        return -1;
    if (ended || work->sandbox.silent_since_ms || work->sandbox.state != SANDBOX_READY)
        return 0;
    work->agent_until = deadline_in_ms(agent_ms);
    work_hang_up(work);
    work_greet_agent(work);
    return 0;
}

static int finish(struct work *work, unsigned agent_ms, struct error **err)
{
    error_auto failure = NULL;
    if (disconnect(work, agent_ms, &failure) == 0)
        return sandbox_sessions_row_done(work->worker->db, work->sandbox.id,
                                         work->sandbox.session_epoch, err);
    log_warning(
        "cannot end the connections of users who lost access to a sandbox; trying again in 10 s",
        SANDBOX_LOG(&work->sandbox), LOG_ERROR(failure));
    return 0;
}

int sandbox_sessions_end(struct worker *worker, const char *id, struct error **err)
{
    work_auto work = {.worker = worker};
    if (sandbox_sessions_row_end(worker->db, id, err) < 0 ||
        sandbox_get(worker->db, id, &work.sandbox, err) < 0)
        return -1;
    if (sandbox_has_packets(work.sandbox.state))
        sandbox_wait_for_gate();
    return finish(&work, RECONNECT_MS, err);
}

int sandbox_sessions_next(struct worker *worker, bool *worked, struct error **err)
{
    work_auto work = {.worker = worker};
    char id[ID_SIZE];
    int64_t begun_ms = clock_monotonic_ms();
    *worked = false;
    if (sandbox_sessions_row_take(worker->db, id, err) < 0)
        return -1;
    if (!*id)
        return 0;
    if (sandbox_get(worker->db, id, &work.sandbox, err) < 0 ||
        finish(&work, RECONNECT_ASIDE_MS, err) < 0)
        return -1;
    /* The other jobs of the process have their turn after a slow host. */
    *worked = clock_monotonic_ms() - begun_ms < LONG_MS;
    return 0;
}
