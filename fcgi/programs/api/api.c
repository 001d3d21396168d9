/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"

#include "api/access.h"
#include "api/replay.h"
#include "api/sandbox_output.h"

struct router api_router(struct api *api)
{
    return (struct router){
        .routes = api_routes,
        .count = api_route_count,
        .authorize = api_authorize,
        .invoke = api_invoke,
        .context = api,
    };
}

void api_serve(void *context, struct http_request *request, struct http_response *response)
{
    const struct router *router = context;
    ((struct api *)router->context)->has_share = false;
    router_serve(router, request, response);
}

int api_new_session(struct api *api, const struct sandbox *sandbox, json_t **json,
                    struct error **err)
{
    struct session session;
    if (session_issue(api->worker.ring, sandbox->id, api->settings->session_ttl_s, &session, err) <
        0)
        return -1;
    *json = session_to_json(api->settings, sandbox, &session);
    session_wipe(&session);
    return 0;
}

int api_lasting_session(struct api *api, const struct sandbox *sandbox, json_t **json,
                        struct error **err)
{
    struct session session;
    if (session_issue_lasting(api->worker.ring, sandbox->id, sandbox->session_epoch, &session,
                              err) < 0)
        return -1;
    *json = session_to_json(api->settings, sandbox, &session);
    session_wipe(&session);
    return 0;
}

int api_claim(struct db *db, const char *id, void *context, struct error **err)
{
    return idempotency_attach(db, context, id, err);
}
