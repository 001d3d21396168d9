/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-api: the control-plane endpoints, a FastCGI worker. */
#include <string.h>
#include <strings.h>

#include "account/api_key.h"
#include "account/principal_cache.h"
#include "api/api.h"
#include "api/e2b/e2b.h"
#include "api/exposition.h"
#include "base/str.h"
#include "config/program.h"
#include "crypto/password.h"
#include "http/server.h"
#include "login/address_list.h"
#include "login/identity.h"

/* A worker restarts after this number of requests, so that a memory leak in a library cannot grow
 * large. */
#define REQUESTS_PER_WORKER 100000

static const struct program program = {
    .name = "sandlot-api",
    .summary = "control-plane endpoints of sandlot, a FastCGI worker on file descriptor 0",
};

/* The APIs by path; they share the worker and its pool. */
struct interfaces {
    struct router own, e2b;
};

/* Return whether a path belongs to /v1. nginx passes on all leading slashes, and encoded ones. */
static bool is_own(const struct http_request *request)
{
    const char *path = request->path;
    while (path[0] == '/' && path[1] == '/')
        path++;
    return str_starts_with(path, "/v1/") || !strncasecmp(path, "/v1%2F", strlen("/v1%2F"));
}

static size_t body_max_of(void *context, const struct http_request *request, size_t body_max)
{
    const struct interfaces *all = context;
    return router_body_max(is_own(request) ? &all->own : &all->e2b, request, body_max);
}

static void serve(void *context, struct http_request *request, struct http_response *response)
{
    struct interfaces *all = context;
    if (exposition_is_asked(request))
        exposition_serve(all->own.context, request, response);
    else if (is_own(request))
        api_serve(&all->own, request, response);
    else
        e2b_serve(&all->e2b, request, response);
}

static void serve_all(struct api *api, struct error **err)
{
    struct interfaces interfaces = {api_router(api), e2b_router(api)};
    struct http_server server = {
        .serve = serve,
        .context = &interfaces,
        .body_max = (size_t)api->settings->body_max_kib * 1024,
        .body_max_of = body_max_of,
        .late_body = true,
        .body_rate_min = (unsigned)api->settings->body_rate_min,
        .body_grace_s = (unsigned)api->settings->body_grace_s,
        .pool = api->pool,
        .max_requests = REQUESTS_PER_WORKER,
        /* A sign-in hashes a password in addition to the request's own memory. */
        .memory_max = HTTP_SERVER_REQUEST_MEMORY + PASSWORD_MEMORY,
        .log_requests = true,
    };
    http_server_run(&server, err);
}

static int open_sign_in(struct api *api, struct error **err)
{
    const struct settings *settings = api->settings;
    if (identity_check_groups(settings->oidc_groups, err) < 0 ||
        address_list_check("login_header_from", settings->login_header_from, err) < 0)
        return -1;
    if (*settings->oidc_issuer && (!*settings->oidc_client_id || !*settings->console_url))
        return error_set(err, ERR_CONFIG,
                         "oidc_issuer is set without oidc_client_id or console_url; set both");
    api->oidc = oidc_provider_new(settings);
    return 0;
}

static void run(const struct settings *settings, struct error **err)
{
    struct api api = {.settings = settings, .keys = principal_cache_new()};
    if (pool_open(settings->pools_dir, &api.pool, err) == 0 &&
        worker_open_in_pool(settings, program.name, api.pool, &api.worker, err) == 0 &&
        open_sign_in(&api, err) == 0)
        serve_all(&api, err);
    principal_deinit(&api.principal);
    principal_cache_free(api.keys);
    oidc_provider_free(api.oidc);
    worker_close(&api.worker);
    pool_close(api.pool);
}

int main(int argc, char **argv)
{
    return program_main(argc, argv, &program, run);
}
