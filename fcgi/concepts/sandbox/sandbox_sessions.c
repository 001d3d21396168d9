/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_sessions.h"

#include "base/clock.h"
#include "base/log.h"
#include "db/lease.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_network.h"

#define RECONNECT_MS       2000
#define RECONNECT_ASIDE_MS 500
#define LEASE_MS           10000
#define LONG_MS            100

DB_STATEMENT(end_statement) = {
    "sessions.end", "UPDATE sandboxes SET session_epoch = session_epoch + 1 WHERE id = ?", false};
static const struct lease_table ends =
    LEASE_TEAMS("sessions", "sandboxes", "id", "sessions_due_at_ms",
                "sessions_due_at_ms IS NOT NULL AND visible = 1", "team_id");
/* A newer epoch is due again. */
DB_STATEMENT(done_statement) = {
    "sessions.done",
    "UPDATE sandboxes SET sessions_due_at_ms = NULL WHERE id = ? AND session_epoch = ?", false};

DB_STATEMENTS(statements) = {&ends.line, &ends.due, &ends.take, &ends.renew};

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
    if (db_exec(worker->db, &end_statement, DB_ARGS(db_text(id)), NULL, err) < 0 ||
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
    char id[LEASE_KEY_SIZE];
    int64_t begun_ms = clock_monotonic_ms();
    *worked = false;
    if (lease_take(worker->db, &ends, NULL, LEASE_MS, id, NULL, err) < 0)
        return -1;
    if (!*id)
        return 0;
    if (sandbox_get(worker->db, id, &work.sandbox, err) < 0)
        return -1;
    disconnect(&work, RECONNECT_ASIDE_MS);
    if (db_exec(worker->db, &done_statement,
                DB_ARGS(db_text(id), db_u64(work.sandbox.session_epoch)), NULL, err) < 0)
        return -1;
    /* The other jobs of the process have their turn after a slow agent. */
    *worked = clock_monotonic_ms() - begun_ms < LONG_MS;
    return 0;
}
