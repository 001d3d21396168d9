/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/access.h"

#include <assert.h>
#include <string.h>

#include "account/access_revision.h"
#include "account/key_use.h"
#include "api/act.h"
#include "api/answer_cache.h"
#include "api/console.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "endpoint/endpoint.h"

/* How often a transfer checks that its client still has access. It must end within five seconds
 * after the access. */
#define WATCH_MS 2000

/* Authenticate a request. A key may be in two headers, and Authorization has precedence. A cookie
 * counts only without a key. */
static int authenticate(struct api *api, const struct http_request *request, struct error **err)
{
    const char *authorization = http_header(request, "Authorization");
    const char *key = http_header(request, "X-API-Key");
    struct worker *worker = &api->worker;
    if (!authorization && !key && console_has_cookie(request))
        return console_authenticate(api, request, err);
    return authorization || !key ? principal_authenticate(api->keys, worker->db, worker->ring,
                                                          authorization, &api->principal, err)
                                 : principal_authenticate_key(api->keys, worker->db, worker->ring,
                                                              key, &api->principal, err);
}

/* Refuse calls that the key or session may not make with any object. */
static int check_scope(const struct api *api, const struct route *route,
                       const struct http_request *request, struct error **err)
{
    const char *volume_id = api->principal.volume_id;
    if (*volume_id && (route->pool != POOL_FILES || !str_equal(request->captures[0], volume_id)))
        return error_set(err, ERR_INSUFFICIENT_SCOPE,
                         "This token is for the files of one volume only.");
    if (route->subject == SUBJECT_LOGIN && *api->principal.key_id)
        return error_set(err, ERR_INSUFFICIENT_SCOPE,
                         "This call needs a sign-in to the console; an API key cannot make it.");
    if (route->scope == ROUTE_WRITE && !api->principal.can_write)
        return error_set(err, ERR_INSUFFICIENT_SCOPE,
                         "This call needs a key with the scope `write`; this key can only read.");
    return 0;
}

/* Check the scope of a known principal and take its share of the pool. */
static int admit(struct api *api, const struct route *route, struct http_request *request,
                 struct error **err)
{
    bool is_key = *api->principal.key_id;
    log_context_set(is_key ? "key" : "login",
                    is_key ? api->principal.key_id : api->principal.login_id);
    if (check_scope(api, route, request, err) == 0)
        return api_take_share(api, request, false, err);
    access_deinit(&api->access);
    act_refused(api, route, request, *err);
    return -1;
}

/* Authenticate again, without a presumed principal. */
static int authorize(struct api *api, const struct route *route, struct http_request *request,
                     struct error **err)
{
    api->is_presumed = false;
    ahead_deinit(&api->ahead);
    principal_deinit(&api->principal);
    return authenticate(api, request, err) < 0 ? -1 : admit(api, route, request, err);
}

/* Return whether the statement that reads the sandbox can confirm the principal: it reads the
 * access revision too. The request must have nothing that would be refused before. */
static bool is_confirmed_by_subject(const struct api *api, const struct route *route,
                                    const struct http_request *request)
{
    error_auto out_of_scope = NULL;
    return route->subject == SUBJECT_SANDBOX && route->scope == ROUTE_READ && route->handler &&
           str_equal(request->method, "GET") && id_is_valid("sbx_", request->captures[0]) &&
           !http_parameter(request, "QUERY_STRING") && !http_parameter(request, "CONTENT_LENGTH") &&
           check_scope(api, route, request, &out_of_scope) == 0;
}

/* Confirm a presumed principal, or authenticate again. So far the principal has only been used to
 * take its team's share. */
static int confirm(struct api *api, const struct route *route, struct http_request *request,
                   uint64_t revision, struct error **err)
{
    api->is_presumed = false;
    if (revision == api->principal.revision)
        return 0;
    pool_leave(api->pool);
    api->has_share = false;
    return authorize(api, route, request, err);
}

static int look_ahead(struct api *api, const struct route *route,
                      const struct http_request *request, uint64_t *revision, struct error **err)
{
    return route->look_ahead ? route->look_ahead(api, request, revision, err)
                             : access_revision_get(api->worker.db, revision, err);
}

/* Take the share of the pool first: a request that waits for a share must not use the database. */
static int authorize_presumed(struct api *api, const struct route *route,
                              struct http_request *request, struct error **err)
{
    uint64_t revision;
    if (api_take_share(api, request, false, err) < 0)
        return -1;
    if (is_confirmed_by_subject(api, route, request)) {
        log_context_set("key", api->principal.key_id);
        return 0;
    }
    if (look_ahead(api, route, request, &revision, err) < 0 ||
        confirm(api, route, request, revision, err) < 0)
        return -1;
    return admit(api, route, request, err);
}

int api_authorize(void *context, const struct route *route, struct http_request *request,
                  struct error **err)
{
    struct api *api = context;
    principal_deinit(&api->principal);
    api->is_presumed = principal_presume(api->keys, api->worker.ring,
                                         http_header(request, "Authorization"), &api->principal);
    return api->is_presumed ? authorize_presumed(api, route, request, err)
                            : authorize(api, route, request, err);
}

int api_authorize_key(struct api *api, const struct route *route, struct http_request *request,
                      const char *key, struct error **err)
{
    api->is_presumed = false;
    principal_deinit(&api->principal);
    if (principal_authenticate_key(api->keys, api->worker.db, api->worker.ring, key,
                                   &api->principal, err) < 0)
        return -1;
    return admit(api, route, request, err);
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

/* Refuse a viewer's write, for every route with an object of a team. */
static int check_role(struct api *api, const struct route *route, const char *team_id,
                      struct error **err)
{
    if (route->scope != ROUTE_WRITE || principal_writes(&api->principal, team_id))
        return 0;
    return error_set(err, ERR_INSUFFICIENT_SCOPE,
                     "You are a viewer of this team; viewers can read only.");
}

static int no_webhook(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "There is no such webhook.");
}

/* Return whether a kept answer for the sandbox is still valid and the access revision is unchanged.
 * It is then set as the subject. */
static bool is_shown_still(struct api *api, const char *id, struct error **err)
{
    uint64_t version, revision;
    struct access *access = &api->access;
    const struct shown *shown = shown_find(id);
    const struct team *team = shown ? principal_team_of_id(&api->principal, shown->team_id) : NULL;
    if (!team || !str_equal(team->slug, shown->team_slug) ||
        sandbox_look_version(api->worker.db, id, &version, &revision, err) < 0 ||
        version != shown->version || revision != api->principal.revision)
        return false;
    api->is_presumed = false;
    access->shown = shown;
    memcpy(access->sandbox.id, shown->id, sizeof shown->id);
    memcpy(access->sandbox.team_id, shown->team_id, sizeof shown->team_id);
    access->sandbox.state = shown->state;
    return true;
}

/* Load the sandbox together with the access revision, which confirms the principal. */
static int load_sandbox_presumed(struct api *api, const struct route *route,
                                 struct http_request *request, struct error **err)
{
    uint64_t revision;
    struct sandbox *sandbox = &api->access.sandbox;
    if (route->keeps_answers && is_shown_still(api, request->captures[0], err))
        return 0;
    if (*err || sandbox_look(api->worker.db, request->captures[0], sandbox, &revision, err) < 0 ||
        confirm(api, route, request, revision, err) < 0)
        return -1;
    const struct team *team = principal_team_of_id(&api->principal, sandbox->team_id);
    if (!team)
        return no_sandbox(err);
    memcpy(sandbox->team_slug, team->slug, sizeof sandbox->team_slug);
    return 0;
}

/* Refuse a name. Another sandbox may have it tomorrow, and a repeated request would change that
 * one. */
static int refuse_name(const char *prefix, const char *find, struct error **err)
{
    return error_set(err, ERR_NOT_FOUND,
                     "A path takes an id, %s and 26 characters, not a name. `GET %s` finds the id.",
                     prefix, find);
}

static int load_sandbox(struct api *api, const char *id, struct error **err)
{
    struct sandbox *sandbox = &api->access.sandbox;
    if (!id_is_valid("sbx_", id))
        return refuse_name("sbx_", "/v1/sandboxes?name=NAME", err);
    if (sandbox_get_any(api->worker.db, id, false, sandbox, err) < 0)
        return -1;
    return principal_reaches(&api->principal, sandbox->team_id) ? 0 : no_sandbox(err);
}

static int load_volume(struct api *api, const char *id, struct error **err)
{
    struct volume *volume = &api->access.volume;
    if (!id_is_valid("vol_", id))
        return refuse_name("vol_", "/v1/volumes", err);
    if (volume_get_any(api->worker.db, id, false, volume, err) < 0)
        return -1;
    return principal_reaches(&api->principal, volume->team_id) ? 0 : no_volume(err);
}

/* Find a checkpoint by [team/]name[:version] in the team of the query, as a create does. For reads
 * only: a repeated change of the newest version would change another one. */
static int find_checkpoint(struct api *api, const struct http_request *request, struct error **err)
{
    const struct team *team;
    error_auto missing = NULL;
    if (principal_team(&api->principal, http_query(request, "team"), "team", &team, err) < 0)
        return -1;
    if (checkpoint_resolve(api->worker.db, team, request->captures[0], &api->access.checkpoint,
                           &missing) == 0)
        return 0;
    return missing->code == ERR_NOT_FOUND ? no_checkpoint(err) : error_move(err, &missing);
}

static int load_checkpoint(struct api *api, const struct route *route,
                           const struct http_request *request, struct error **err)
{
    struct checkpoint *checkpoint = &api->access.checkpoint;
    const char *id = request->captures[0];
    if (!id_is_valid("ckp_", id))
        return route->scope == ROUTE_READ ? find_checkpoint(api, request, err)
                                          : refuse_name("ckp_", "/v1/checkpoints/NAME", err);
    const char *slug = http_query(request, "team");
    const struct team *team = NULL;
    if ((slug && principal_team(&api->principal, slug, "team", &team, err) < 0) ||
        checkpoint_get_any(api->worker.db, id, false, checkpoint, err) < 0)
        return -1;
    bool is_of_team = !team || str_equal(checkpoint->team_id, team->id);
    return is_of_team && principal_reaches(&api->principal, checkpoint->team_id)
               ? 0
               : no_checkpoint(err);
}

static int load_webhook(struct api *api, const char *id, struct error **err)
{
    struct webhook *webhook = &api->access.webhook;
    if (!id_is_valid("whk_", id))
        return no_webhook(err);
    if (webhook_get(api->worker.db, id, webhook, err) < 0)
        return -1;
    return principal_reaches(&api->principal, webhook->team_id) ? 0 : no_webhook(err);
}

/* Find the team: from the body when the route has one, otherwise from the query. */
static int find_team(struct api *api, const struct route *route, const struct http_request *request,
                     struct error **err)
{
    bool in_body = route->body && !route->upload;
    const char *slug = in_body ? json_string_value(json_object_get(request->json, "team"))
                               : http_query(request, "team");
    if (!slug && route->subject == SUBJECT_TEAMS)
        return 0;
    return principal_team(&api->principal, slug, in_body ? "/team" : "team", &api->access.team,
                          err);
}

/* Find the team of members. The handlers check the rights of each role. */
static int find_members(struct api *api, const char *slug, struct error **err)
{
    error_auto out_of_reach = NULL;
    if (principal_team(&api->principal, slug, NULL, &api->access.team, &out_of_reach) == 0)
        return 0;
    return error_set(err, ERR_NOT_FOUND, "There is no such team.");
}

const char *access_team_id(const struct access *access, const struct route *route)
{
    switch ((enum endpoint_subject)route->subject) {
    case SUBJECT_SANDBOX:
        return access->sandbox.team_id;
    case SUBJECT_VOLUME:
        return access->volume.team_id;
    case SUBJECT_CHECKPOINT:
        return access->checkpoint.team_id;
    case SUBJECT_WEBHOOK:
        return access->webhook.team_id;
    case SUBJECT_TEAM:
        return access->team ? access->team->id : NULL;
    default:
        return NULL;
    }
}

static int check_operator(const struct api *api, struct error **err)
{
    if (principal_is_operator(&api->principal))
        return 0;
    return error_set(err, ERR_INSUFFICIENT_SCOPE,
                     "This call is for operators: owners of the deployment's own team.");
}

static int load_subject(struct api *api, const struct route *route, struct http_request *request,
                        struct error **err)
{
    const char *id = request->captures[0];
    switch ((enum endpoint_subject)route->subject) {
    case SUBJECT_TEAM:
    case SUBJECT_TEAMS:
        return find_team(api, route, request, err);
    case SUBJECT_SANDBOX:
        return api->is_presumed ? load_sandbox_presumed(api, route, request, err)
                                : load_sandbox(api, id, err);
    case SUBJECT_VOLUME:
        return load_volume(api, id, err);
    case SUBJECT_CHECKPOINT:
        return load_checkpoint(api, route, request, err);
    case SUBJECT_WEBHOOK:
        return load_webhook(api, id, err);
    case SUBJECT_MEMBERS:
        return find_members(api, id, err);
    case SUBJECT_OPERATOR:
        return check_operator(api, err);
    case SUBJECT_USER:
    case SUBJECT_LOGIN:
        break;
    }
    return 0;
}

int access_settle(struct api *api, const struct route *route, struct http_request *request,
                  struct error **err)
{
    access_deinit(&api->access);
    if (load_subject(api, route, request, err) < 0)
        return -1;
    assert(!api->is_presumed);
    const char *team_id = access_team_id(&api->access, route);
    const struct team *named = api->access.team; /* also of a list, or of members */
    if (team_id || named)
        key_use_note(api->worker.db, &api->principal, team_id ? team_id : named->id);
    return team_id ? check_role(api, route, team_id, err) : 0;
}

/* Read the rights of the client again, and check that they are enough for a transfer of the loaded
 * volume. */
static int check_again(struct api *api, const struct http_request *request, bool writes,
                       struct error **err)
{
    const char *team_id = api->access.volume.team_id;
    struct principal before = api->principal;
    int result = *before.key_id ? principal_read_again(api->keys, api->worker.db, &before,
                                                       &api->principal, err)
                                : console_check_again(api, request, err);
    if (result < 0) {
        api->principal = before;
        return -1;
    }
    principal_deinit(&before);
    if (!principal_reaches(&api->principal, team_id))
        return no_volume(err);
    return !writes || principal_writes(&api->principal, team_id)
               ? 0
               : error_set(err, ERR_INSUFFICIENT_SCOPE,
                           "You are now a viewer of this team; viewers can read only.");
}

bool access_lasts(struct access_watch *watch)
{
    error_auto err = NULL;
    int64_t now_ms = clock_monotonic_ms();
    if (watch->ended || (watch->next_ms && now_ms < watch->next_ms))
        return !watch->ended;
    bool is_first = !watch->next_ms;
    watch->next_ms = now_ms + WATCH_MS;
    if (is_first)
        return true;
    if (check_again(watch->api, watch->request, watch->writes, &err) == 0)
        return true;
    if (err->code == ERR_UNAUTHORIZED || err->code == ERR_NOT_FOUND ||
        err->code == ERR_INSUFFICIENT_SCOPE)
        error_move(&watch->ended, &err);
    else
        log_warning(
            "cannot check whether the client of a transfer still has access; trying again in "
            "two seconds",
            LOG_STR("volume", watch->api->access.volume.id), LOG_ERROR(err));
    return !watch->ended;
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
    case SUBJECT_WEBHOOK:
        return access->webhook.deleted_at_ms ? no_webhook(err) : 0;
    default:
        return 0;
    }
}

/* --- objects that an earlier attempt with the same Idempotency-Key has made --- */

static int unsettled(struct error **err)
{
    return error_set_field(
        err, ERR_REQUEST_IN_PROGRESS, "Idempotency-Key",
        "The first request with this Idempotency-Key has not ended yet; try again.");
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
    /* A retry of a fork returns the sandboxes that exist. */
    api->access.made = checkpoint->state == CHECKPOINT_READY || checkpoint->for_fork;
    return 0;
}

static int load_made_version(struct api *api, const char *id, struct error **err)
{
    if (template_version_get(api->worker.db, id, &api->access.version, err) < 0)
        return -1;
    api->access.made = true;
    return 0;
}

/* A volume in the state "creating" counts: the retry finishes it. */
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
