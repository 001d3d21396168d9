/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_sessions.h"

#include "base/clock.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_network.h"
#include "sandbox/sandbox_sessions_row.h"

#define RECONNECT_MS       2000
#define RECONNECT_ASIDE_MS 500
#define LONG_MS            100

/* The agent disconnects its clients and then takes new ones. A sandbox that does not run has no
 * connections. */
static void disconnect(struct work *work, unsigned agent_ms)
{
    if (work->sandbox.state != SANDBOX_READY)
        return;
    sandbox_cut_previews(work->worker, work->sandbox.id, 0);
    if (work->sandbox.silent_since_ms)
        return;
    work->agent_until = deadline_in_ms(agent_ms);
    work_hang_up(work);
    work_greet_agent(work);
}

int sandbox_sessions_end(struct worker *worker, const char *id, struct error **err)
{
    work_auto work = {.worker = worker};
    if (sandbox_sessions_row_end(worker->db, id, err) < 0 ||
        sandbox_get(worker->db, id, &work.sandbox, err) < 0)
        return -1;
    if (work.sandbox.state == SANDBOX_READY)
        sandbox_wait_for_gate();
    disconnect(&work, RECONNECT_MS);
    return 0;
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
    if (sandbox_get(worker->db, id, &work.sandbox, err) < 0)
        return -1;
    disconnect(&work, RECONNECT_ASIDE_MS);
    if (sandbox_sessions_row_done(worker->db, id, work.sandbox.session_epoch, err) < 0)
        return -1;
    /* The other jobs of the process have their turn after a slow agent. */
    *worked = clock_monotonic_ms() - begun_ms < LONG_MS;
    return 0;
}
