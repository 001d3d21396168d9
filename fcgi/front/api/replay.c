/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/replay.h"

#include <string.h>

#include "api/access.h"
#include "api/act.h"
#include "api/etag.h"
#include "api/streamed_body.h"
#include "api/whole_list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "endpoint/endpoint.h"

#define PATH_MAX_BYTES 255
/* A body may become twelve times as long in its canonical form: 1e0 as 1.0000000000000000e+00. */
#define BOUND_MAX (64u << 20)
/* Member of a kept answer, which no client gets: the hash of the streamed body. */
#define BODY_HASH "streamed_body_hash"

/* Return the id of the sandbox or volume in an answer, or "". */
static const char *subject_of(const json_t *body)
{
    const json_t *sandbox = json_object_get(body, "sandbox");
    const char *id = json_string_value(json_object_get(sandbox ? sandbox : body, "id"));
    return id && (id_is_valid("sbx_", id) || id_is_valid("vol_", id)) ? id : "";
}

/* Add a new session to a replayed answer: sessions are never kept. For a deleted sandbox the
 * session opens nothing. */
static int add_session(struct api *api, json_t *body, struct error **err)
{
    sandbox_auto sandbox = {0};
    json_t *session;
    if (sandbox_get_any(api->worker.db, subject_of(body), false, &sandbox, err) < 0 ||
        api_new_session(api, &sandbox, body, &session, err) < 0)
        return -1;
    json_object_set_new(body, "session", session);
    return 0;
}

/* Return whether the key reaches the teams of a kept answer. The answer belongs to the user, and
 * another key may have made it. The object of the request is already checked. A new key in the
 * answer must not go to a key that reaches less. */
static bool reaches_teams_of(const struct principal *principal, const json_t *body)
{
    const json_t *teams = json_object_get(body, "teams");
    size_t index;
    json_t *slug;
    const struct team *team;
    if (!json_is_array(teams))
        return principal->all_teams || !json_object_get(body, "key");
    json_array_foreach ((json_t *)teams, index, slug) {
        error_auto out_of_reach = NULL;
        if (principal_team(principal, json_string_value(slug), "/teams", &team, &out_of_reach) < 0)
            return false;
    }
    return true;
}

/* Compare a streamed body with the one of the kept answer. Its bytes come after the claim. */
static int check_streamed(struct streamed_body *streamed, const json_t *kept, struct error **err)
{
    char hash[STREAMED_BODY_HASH_SIZE];
    const char *first = json_string_value(json_object_get(kept, BODY_HASH));
    if (!first)
        return 0;
    if (streamed_body_read(streamed, err) < 0)
        return -1;
    return str_equal(streamed_body_hash(streamed, hash), first)
               ? 0
               : error_set_field(err, ERR_IDEMPOTENCY_KEY_REUSED, "Idempotency-Key",
                                 "This Idempotency-Key was used with another body.");
}

static int replay(struct api *api, const struct route *route, const struct idempotency *idempotency,
                  struct streamed_body *streamed, struct http_response *response,
                  struct error **err)
{
    json_auto_t *body = NULL;
    if (idempotency->answer.size) {
        body = json_loadb(idempotency->answer.data, idempotency->answer.size, 0, NULL);
        if (!body)
            return error_set(err, ERR_INTERNAL, "a saved answer is not JSON");
    }
    if (route->subject == SUBJECT_USER && !reaches_teams_of(&api->principal, body))
        return error_set(err, ERR_TEAM_FORBIDDEN,
                         "This key does not reach every team of the new key.");
    if (check_streamed(streamed, body, err) < 0)
        return -1;
    json_object_del(body, BODY_HASH);
    if (route->idempotency == IDEMPOTENCY_SESSION && idempotency->status < 300 &&
        add_session(api, body, err) < 0)
        return -1;
    http_response_header(response, "Idempotent-Replayed", "true");
    return http_response_json(response, idempotency->status, json_incref(body));
}

static int keep(struct api *api, const struct idempotency *idempotency,
                struct streamed_body *streamed, const struct http_response *response,
                struct error **err)
{
    char text_of_hash[STREAMED_BODY_HASH_SIZE];
    const char *hash = streamed_body_hash(streamed, text_of_hash);
    json_auto_t *body = response->json ? json_copy(response->json) : NULL;
    json_object_del(body, "session");
    if (hash)
        json_object_set_new(body, BODY_HASH, json_string(hash));
    autowipe char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    return idempotency_finish(api->worker.db, api->worker.ring, idempotency, response->status,
                              subject_of(body), text, text ? strlen(text) : 0, err);
}

/* Settle the claim after the handler: keep only the answer of a request that was done. If this
 * fails, the lease of the claim runs out, and a retry finds the object that was made. */
static void settle(struct api *api, const struct idempotency *idempotency,
                   struct streamed_body *streamed, const struct http_response *response)
{
    error_auto failure = NULL;
    struct db *db = api->worker.db;
    int result = response->status < 400   ? keep(api, idempotency, streamed, response, &failure)
                 : response->status < 500 ? idempotency_release(db, idempotency, &failure)
                                          : idempotency_abandon(db, idempotency, &failure);
    if (result < 0)
        log_warning("cannot store the answer of a request for its Idempotency-Key; a repeated "
                    "request finds the object that was made",
                    LOG_ERROR(failure));
}

static int call_handler(struct api *api, const struct route *route, struct http_request *request,
                        struct http_response *response, struct error **err)
{
    if (access_check_shown(api, route, err) < 0)
        return -1;
    int result = etag_begin(api, route, request, err);
    if (result == 0 && api->idempotency)
        result = access_load_made(api, err);
    if (result == 0)
        result = act_do(api, route, request, response, err);
    etag_end(api);
    if (result == 0)
        result = whole_list_cut(api, route, request, response, err);
    if (result == 0)
        etag_add(route, response);
    return result;
}

static int run(struct api *api, const struct route *route, struct http_request *request,
               struct http_response *response, struct error **err)
{
    error_auto failure = NULL;
    const struct idempotency *idempotency = api->idempotency;
    if (call_handler(api, route, request, response, &failure) == 0)
        return 0;
    /* An earlier attempt that died may have deleted the object already. */
    if (failure->code == ERR_NOT_FOUND && idempotency->attempts > 1 &&
        str_equal(route->method, "DELETE")) {
        response->status = 204;
        return 0;
    }
    if (failure->code == ERR_COPY_FIRST) {
        error_auto unknown = NULL; /* the claim's lease then runs out */
        if (idempotency_abandon(api->worker.db, idempotency, &unknown) < 0)
            return error_move(err, &unknown);
        return error_move(err, &failure);
    }
    if (failure->code == ERR_REQUEST_IN_PROGRESS) /* another attempt took over */
        return error_move(err, &failure);
    http_response_error(response, request, failure);
    return 0;
}

/* Return the Idempotency-Key. A header without a value gives "", which is refused like other wrong
 * keys. */
static const char *key_of(const struct http_request *request)
{
    const char *key = http_header(request, "Idempotency-Key");
    for (char **entry = request->parameters; !key && *entry; entry++)
        if (!strcmp(*entry, "HTTP_IDEMPOTENCY_KEY="))
            return "";
    return key;
}

/* Return whether a path can be stored. It is stored as sent; a longer path, or one with non-ASCII
 * bytes, names no object. */
static bool path_is_kept(const char *path)
{
    size_t length = 0;
    for (; path[length]; length++)
        if ((unsigned char)path[length] >= 0x80)
            return false;
    return length <= PATH_MAX_BYTES;
}

/* Add the default team: a request without a team may mean another team with another key. The
 * personal team is left out, because it is the same for all keys of the user. */
static void write_default_team(const struct api *api, const struct http_request *request,
                               struct buffer *bound)
{
    const struct team *team = api->access.team;
    bool named = json_object_get(request->json, "team") || http_query(request, "team");
    if (team && !named && strcmp(team->id, api->principal.personal_team_id) != 0)
        buffer_printf(bound, "%s\n", team->id);
}

/* Write the parts of a request that its Idempotency-Key is bound to, in addition to the path: the
 * query, the default team, and the body. A JSON body counts by value, not by spelling. A streamed
 * body is not known here; check_streamed() compares its bytes. */
static void write_bound(const struct api *api, const struct http_request *request,
                        struct buffer *bound)
{
    const char *query = http_parameter(request, "QUERY_STRING");
    write_default_team(api, request, bound);
    if (query)
        buffer_printf(bound, "?%s\n", query);
    autowipe char *value =
        request->json ? json_dumps(request->json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (value)
        buffer_append_string(bound, value);
    else
        buffer_append(bound, buffer_string(&request->body), request->body.size);
}

static int with_key(struct api *api, const char *key, const struct route *route,
                    struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct idempotency idempotency;
    struct streamed_body streamed;
    struct buffer bound = BUFFER_INIT(BOUND_MAX);
    streamed_body_begin(&streamed, request);
    write_bound(api, request, &bound);
    struct idempotency_scope scope = {
        .user_id = api->principal.user_id,
        .method = route->method,
        .path = request->path,
        .key = key,
        .body = bound.data,
        .body_size = bound.size,
    };
    int result = idempotency_begin(api->worker.db, api->worker.ring, &scope, api->settings->lease_s,
                                   &idempotency, err);
    if (result == 0 && idempotency.verdict == IDEMPOTENCY_REPLAY) {
        result = replay(api, route, &idempotency, &streamed, response, err);
    } else if (result == 0) {
        api->idempotency = &idempotency;
        result = run(api, route, request, response, err);
        api->idempotency = NULL;
        if (result == 0)
            settle(api, &idempotency, &streamed, response);
    }
    streamed_body_end(&streamed);
    idempotency_deinit(&idempotency);
    buffer_wipe(&bound);
    return result;
}

/* Let nginx send the unchanged request to a pool whose workers may wait for a copy. Nothing has
 * been changed. */
static int hand_on(const struct api *api, struct http_response *response, struct error **err)
{
    error_clear(err);
    response->status = 202; /* visible only in the log */
    http_response_header(response, "X-Accel-Redirect", "%s", api->hand_on_to);
    return 0;
}

int api_invoke(void *context, const struct route *route, struct http_request *request,
               struct http_response *response, struct error **err)
{
    struct api *api = context;
    const char *key = route->idempotency == IDEMPOTENCY_NONE ? NULL : key_of(request);
    if (api_take_share(api, request, true, err) < 0)
        return -1;
    api->hand_on_to = http_parameter(request, "SANDLOT_HAND_ON");
    if (key && !path_is_kept(request->path))
        return error_set(err, ERR_NOT_FOUND, "There is no such path.");
    int result = access_settle(api, route, request, err);
    if (result < 0)
        act_refused(api, route, request, *err);
    if (result == 0)
        result = key ? with_key(api, key, route, request, response, err)
                     : call_handler(api, route, request, response, err);
    access_deinit(&api->access);
    return result < 0 && (*err)->code == ERR_COPY_FIRST ? hand_on(api, response, err) : result;
}
