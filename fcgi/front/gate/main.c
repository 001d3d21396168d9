/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-gate: decide whether a request may reach a sandbox, as a FastCGI worker behind
 * auth_request. */
#include "account/access_revision.h"
#include "account/account.h"
#include "account/usage.h"
#include "account/usage_kept.h"
#include "archive/archive.h"
#include "audit/audit.h"
#include "base/mem.h"
#include "config/program.h"
#include "db/named_lease.h"
#include "event/event.h"
#include "gate/decide.h"
#include "gate/gate_db.h"
#include "gate/serve.h"
#include "host/host.h"
#include "http/server.h"
#include "moving/moving.h"
#include "network/egress_profile.h"
#include "sandbox/kept_log.h"
#include "sandbox/operation.h"
#include "sandbox/quota.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox.h"
#include "sandbox/sandbox_events.h"
#include "sandbox/sandbox_network.h"
#include "sandbox/sandbox_room.h"
#include "sandbox/sandbox_size.h"
#include "volume/keeper_row.h"
#include "volume/volume.h"
#include "volume/volume_move.h"

#define REQUESTS_PER_WORKER 1000000

static const struct program program = {
    .name = "sandlot-gate",
    .summary = "decides data-plane and preview requests, a FastCGI worker on file descriptor 0",
};

static int open_gate(const struct settings *settings, struct gate *gate, struct error **err)
{
    if (pool_open(settings->pools_dir, &gate->pool, err) < 0)
        return -1;
    if (agent_notes_open(settings->pools_dir, "agents.notes", settings->agent_silence_s,
                         &gate->notes, err) < 0)
        return -1;
    return worker_open_in_pool(settings, program.name, gate->pool, &gate->worker, err);
}

int main(int argc, char **argv)
{
    struct program_call call;
    int status = program_start(argc, argv, &program, &call);
    if (status != PROGRAM_RUN)
        return status;
    struct gate gate = {0};
    struct http_server server = {
        .serve = gate_serve,
        .context = &gate,
        .max_requests = REQUESTS_PER_WORKER,
        .memory_max = HTTP_SERVER_REQUEST_MEMORY,
    };
    error_auto err = NULL;
    if (open_gate(call.settings, &gate, &err) == 0) {
        server.pool = gate.pool;
        http_server_run(&server, &err);
    }
    agent_notes_close(gate.notes);
    worker_close(&gate.worker);
    pool_close(gate.pool);
    settings_free(call.settings);
    return program_end(err);
}
