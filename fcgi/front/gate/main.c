/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-gate: decide whether a request may reach a sandbox, as a FastCGI worker behind
 * auth_request. */
#include "config/program.h"
#include "gate/decide.h"
#include "gate/serve.h"
#include "http/server.h"

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

static void run(const struct settings *settings, struct error **err)
{
    struct gate gate = {0};
    struct http_server server = {
        .serve = gate_serve,
        .context = &gate,
        .max_requests = REQUESTS_PER_WORKER,
        .memory_max = HTTP_SERVER_REQUEST_MEMORY,
    };
    if (open_gate(settings, &gate, err) == 0) {
        server.pool = gate.pool;
        http_server_run(&server, err);
    }
    agent_notes_close(gate.notes);
    worker_close(&gate.worker);
    pool_close(gate.pool);
}

int main(int argc, char **argv)
{
    return program_main(argc, argv, &program, run);
}
