/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"
#include "base/log.h"

int api_authorize(void *context, const struct route *route, struct http_request *request,
                  struct error **err)
{
    struct api *api = context;
    principal_deinit(&api->principal);
    if (principal_authenticate(api->worker.db, api->worker.ring,
                               http_header(request, "Authorization"), &api->principal, err) < 0)
        return -1;
    log_context_set("key", api->principal.key_id);
    if (route->scope == ROUTE_WRITE && !api->principal.can_write)
        return error_set(err, ERR_INSUFFICIENT_SCOPE,
                         "This call needs a key with the scope `write`; this key can only read.");
    return api_take_share(api, request, false, err);
}

int api_sandbox(struct api *api, const struct http_request *request, struct sandbox *sandbox,
                struct error **err)
{
    const char *id = request->captures[0];
    if (id_is_valid("sbx_", id)) {
        if (sandbox_get(api->worker.db, id, sandbox, err) < 0)
            return -1;
        if (principal_reaches(&api->principal, sandbox->team_id))
            return 0;
        sandbox_deinit(sandbox);
    }
    return error_set(err, ERR_NOT_FOUND, "There is no such sandbox.");
}
