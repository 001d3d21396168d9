/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-gate: who may reach a sandbox and where it is, a FastCGI worker behind auth_request. */
#include <stdlib.h>
#include <sysexits.h>

#include "base/log.h"
#include "config/program.h"
#include "gate/gate_db.h"
#include "gate/serve.h"
#include "http/server.h"

#define REQUESTS_PER_WORKER 1000000

static const struct program program = {
    .name = "sandlot-gate",
    .summary = "decides data-plane and preview requests, a FastCGI worker on file descriptor 0",
};

int main(int argc, char **argv)
{
    struct program_call call;
    int status = program_start(argc, argv, &program, &call);
    if (status != PROGRAM_RUN)
        return status;
    struct sandbox_service service = {0};
    struct http_server server = {
        .serve = gate_serve,
        .context = &service,
        .max_requests = REQUESTS_PER_WORKER,
    };
    error_auto err = NULL;
    if (sandbox_service_open(call.settings, program.name, &service, &err) == 0 &&
        db_check_statements(service.db, &gate_statements, 1, &err) == 0)
        http_server_run(&server, &err);
    if (err)
        log_error("cannot serve", LOG_ERROR(err));
    sandbox_service_close(&service);
    settings_free(call.settings);
    return err ? EX_UNAVAILABLE : EXIT_SUCCESS;
}
