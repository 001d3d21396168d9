/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-api: the control-plane endpoints, a FastCGI worker. */
#include <stdlib.h>
#include <sysexits.h>

#include "api/access.h"
#include "api/replay.h"
#include "base/log.h"
#include "config/program.h"
#include "http/server.h"

/* A worker is replaced now and then, so that no leak of a library ever grows large. */
#define REQUESTS_PER_WORKER 100000

static const struct program program = {
    .name = "sandlot-api",
    .summary = "control-plane endpoints of sandlot, a FastCGI worker on file descriptor 0",
};

static void serve(void *context, struct http_request *request, struct http_response *response)
{
    router_serve(context, request, response);
}

static size_t body_max_of(void *context, const struct http_request *request, size_t body_max)
{
    return router_body_max(context, request, body_max);
}

static int run(struct api *api, struct error **err)
{
    struct router router = {
        .routes = api_routes,
        .count = api_route_count,
        .authorize = api_authorize,
        .invoke = api_invoke,
        .context = api,
    };
    struct http_server server = {
        .serve = serve,
        .context = &router,
        .body_max = (size_t)api->settings->body_max_kib * 1024,
        .body_max_of = body_max_of,
        .max_requests = REQUESTS_PER_WORKER,
        .log_requests = true,
    };
    return http_server_run(&server, err);
}

int main(int argc, char **argv)
{
    struct program_call call;
    int status = program_start(argc, argv, &program, &call);
    if (status != PROGRAM_RUN)
        return status;
    struct api api = {.settings = call.settings};
    error_auto err = NULL;
    if (worker_open(call.settings, program.name, &api.worker, &err) == 0)
        run(&api, &err);
    if (err)
        log_error("cannot serve", LOG_ERROR(err));
    principal_deinit(&api.principal);
    worker_close(&api.worker);
    settings_free(call.settings);
    return err ? EX_UNAVAILABLE : EXIT_SUCCESS;
}
