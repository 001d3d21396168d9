/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"

#include <stdlib.h>

#include "account/token_key.h"
#include "api/access.h"
#include "api/replay.h"
#include "api/sandbox_output.h"
#include "base/str.h"

void ahead_deinit(struct ahead *ahead)
{
    free(ahead->listed);
    *ahead = (struct ahead){0};
}

struct router api_router(struct api *api)
{
    return (struct router){
        .routes = api_routes,
        .count = api_route_count,
        .refuse_empty = true,
        .authorize = api_authorize,
        .invoke = api_invoke,
        .context = api,
    };
}

void api_begin(struct api *api)
{
    api->has_share = api->is_presumed = false;
    principal_deinit(&api->principal);
    ahead_deinit(&api->ahead);
}

void api_serve(void *context, struct http_request *request, struct http_response *response)
{
    const struct router *router = context;
    api_begin(router->context);
    router_serve(router, request, response);
}

static struct session_scope wanted_scope(const json_t *wish)
{
    json_int_t port = json_integer_value(json_object_get(wish, "port"));
    const char *purpose = json_string_value(json_object_get(wish, "purpose"));
    return (struct session_scope){port || str_equal(purpose, PURPOSE_PREVIEWS), (uint16_t)port};
}

int api_new_session(struct api *api, const struct sandbox *sandbox, const json_t *wish,
                    json_t **json, struct error **err)
{
    struct session session;
    struct keyring *ring = api->worker.ring;
    struct session_scope scope = wanted_scope(wish);
    const char *lifetime = json_string_value(json_object_get(wish, "lifetime"));
    /* A sign-in may repeat the request of a key. Nothing would end a lasting token of a sign-in. */
    bool is_lasting = str_equal(lifetime, LIFETIME_SANDBOX) && !*api->principal.login_id;
    if (token_key_note(api->worker.db, &api->principal, sandbox->id, sandbox->team_id, err) < 0)
        return -1;
    int result = is_lasting ? session_issue_lasting(ring, sandbox->id, scope,
                                                    sandbox->session_epoch, &session, err)
                            : session_issue(ring, sandbox->id, scope, sandbox->session_epoch,
                                            api->settings->session_ttl_s, &session, err);
    if (result < 0)
        return -1;
    *json = session_to_json(api->settings, sandbox, &session);
    session_wipe(&session);
    return 0;
}

int api_claim(struct db *db, const char *id, void *context, struct error **err)
{
    struct api *api = context;
    audit_about(&api->audit, id);
    return api->idempotency ? idempotency_attach(db, api->idempotency, id, err) : 0;
}

int api_made(struct api *api, struct error **err)
{
    return audit_tell_done(&api->audit, err);
}
