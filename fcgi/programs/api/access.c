/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/access.h"

#include "base/log.h"
#include "base/mem.h"
#include "endpoint/endpoint.h"

/* Two headers carry a key; the usual one counts. */
static int authenticate(struct api *api, const struct http_request *request, struct error **err)
{
    const char *authorization = http_header(request, "Authorization");
    const char *key = http_header(request, "X-API-Key");
    struct worker *worker = &api->worker;
    return authorization || !key
               ? principal_authenticate(worker->db, worker->ring, authorization, &api->principal,
                                        err)
               : principal_authenticate_key(worker->db, worker->ring, key, &api->principal, err);
}

int api_authorize(void *context, const struct route *route, struct http_request *request,
                  struct error **err)
{
    struct api *api = context;
    principal_deinit(&api->principal);
    if (authenticate(api, request, err) < 0)
        return -1;
    log_context_set("key", api->principal.key_id);
    if (route->scope == ROUTE_WRITE && !api->principal.can_write)
        return error_set(err, ERR_INSUFFICIENT_SCOPE,
                         "This call needs a key with the scope `write`; this key can only read.");
    return api_take_share(api, request, false, err);
}

static int no_sandbox(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "There is no such sandbox.");
}

static int no_volume(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "There is no such volume.");
}

static int no_checkpoint(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "There is no such checkpoint.");
}

static int load_sandbox(struct api *api, const char *id, struct error **err)
{
    struct sandbox *sandbox = &api->access.sandbox;
    if (!id_is_valid("sbx_", id))
        return no_sandbox(err);
    if (sandbox_get_any(api->worker.db, id, false, sandbox, err) < 0)
        return -1;
    return principal_reaches(&api->principal, sandbox->team_id) ? 0 : no_sandbox(err);
}

static int load_volume(struct api *api, const char *id, struct error **err)
{
    struct volume *volume = &api->access.volume;
    if (!id_is_valid("vol_", id))
        return no_volume(err);
    if (volume_get_any(api->worker.db, id, false, volume, err) < 0)
        return -1;
    return principal_reaches(&api->principal, volume->team_id) ? 0 : no_volume(err);
}

static int load_checkpoint(struct api *api, const char *id, struct error **err)
{
    struct checkpoint *checkpoint = &api->access.checkpoint;
    if (!id_is_valid("ckp_", id))
        return no_checkpoint(err);
    if (checkpoint_get_any(api->worker.db, id, false, checkpoint, err) < 0)
        return -1;
    return principal_reaches(&api->principal, checkpoint->team_id) ? 0 : no_checkpoint(err);
}

/* From the body where the route has one, else from the query. */
static int find_team(struct api *api, const struct route *route, const struct http_request *request,
                     struct error **err)
{
    const char *slug = route->body ? json_string_value(json_object_get(request->json, "team"))
                                   : http_query(request, "team");
    if (!slug && route->subject == SUBJECT_TEAMS)
        return 0;
    return principal_team(&api->principal, slug, route->body ? "/team" : "team", &api->access.team,
                          err);
}

int access_settle(struct api *api, const struct route *route, const struct http_request *request,
                  struct error **err)
{
    const char *id = request->captures[0];
    access_deinit(&api->access);
    switch ((enum endpoint_subject)route->subject) {
    case SUBJECT_TEAM:
    case SUBJECT_TEAMS:
        return find_team(api, route, request, err);
    case SUBJECT_SANDBOX:
        return load_sandbox(api, id, err);
    case SUBJECT_VOLUME:
        return load_volume(api, id, err);
    case SUBJECT_CHECKPOINT:
        return load_checkpoint(api, id, err);
    case SUBJECT_USER:
        break;
    }
    return 0;
}

int access_check_shown(const struct api *api, const struct route *route, struct error **err)
{
    const struct access *access = &api->access;
    switch ((enum endpoint_subject)route->subject) {
    case SUBJECT_SANDBOX:
        return sandbox_state_is_shown(access->sandbox.state) ? 0 : no_sandbox(err);
    case SUBJECT_VOLUME:
        return access->volume.state == VOLUME_READY ? 0 : no_volume(err);
    case SUBJECT_CHECKPOINT:
        return access->checkpoint.state == CHECKPOINT_READY ? 0 : no_checkpoint(err);
    default:
        return 0;
    }
}

/* --- what an earlier attempt with the same Idempotency-Key made --- */

static int unsettled(struct error **err)
{
    return error_set_field(err, ERR_REQUEST_IN_PROGRESS, "Idempotency-Key",
                           "The first request with this Idempotency-Key is still being settled.");
}

static int load_made_sandbox(struct api *api, const char *id, struct error **err)
{
    struct sandbox *sandbox = &api->access.sandbox;
    if (sandbox_get(api->worker.db, id, sandbox, err) < 0)
        return -1;
    if (sandbox->state == SANDBOX_CREATING || sandbox->state == SANDBOX_RESTORING)
        return unsettled(err);
    api->access.made = true;
    return 0;
}

static int load_made_checkpoint(struct api *api, const char *id, struct error **err)
{
    struct checkpoint *checkpoint = &api->access.checkpoint;
    if (checkpoint_get_any(api->worker.db, id, false, checkpoint, err) < 0)
        return -1;
    if (checkpoint->state == CHECKPOINT_CREATING)
        return unsettled(err);
    api->access.made = checkpoint->state == CHECKPOINT_READY;
    return 0;
}

static int load_made_version(struct api *api, const char *id, struct error **err)
{
    if (template_version_get(api->worker.db, id, &api->access.version, err) < 0)
        return -1;
    api->access.made = true;
    return 0;
}

/* One that is being made can be finished. */
static int load_made_volume(struct api *api, const char *id, struct error **err)
{
    struct volume *volume = &api->access.volume;
    if (volume_get_any(api->worker.db, id, false, volume, err) < 0)
        return -1;
    api->access.made = volume->state == VOLUME_CREATING || volume->state == VOLUME_READY;
    return 0;
}

int access_load_made(struct api *api, struct error **err)
{
    static const struct {
        const char *prefix;
        int (*load)(struct api *api, const char *id, struct error **err);
    } kinds[] = {
        {"sbx_", load_made_sandbox},
        {"ckp_", load_made_checkpoint},
        {"tpv_", load_made_version},
        {"vol_", load_made_volume},
    };
    const char *id = api->idempotency->made_id;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        error_auto gone = NULL;
        if (id_is_valid(kinds[i].prefix, id) && kinds[i].load(api, id, &gone) < 0)
            return gone->code == ERR_NOT_FOUND ? 0 : error_move(err, &gone);
    }
    return 0;
}

void access_deinit(struct access *access)
{
    sandbox_deinit(&access->sandbox);
    volume_deinit(&access->volume);
    *access = (struct access){0};
}
