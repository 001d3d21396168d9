/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/forks.h"

#include "api/sandbox_output.h"
#include "base/log.h"
#include "base/mem.h"

/* Attach the fork to the Idempotency-Key only: the audit entry names the original sandbox. */
static int claim(struct db *db, const char *id, void *context, struct error **err)
{
    struct api *api = context;
    return api->idempotency ? idempotency_attach(db, api->idempotency, id, err) : 0;
}

static int make(struct api *api, const json_t *body, struct forks *forks, struct error **err)
{
    const json_t *count = json_object_get(body, "count");
    struct sandbox *original = &api->access.sandbox;
    struct sandbox_fork request = {
        .user_id = api->principal.user_id,
        .name = json_string_value(json_object_get(body, "name")),
        .count = count ? (unsigned)json_integer_value(count) : 1,
        .timeout_s = (uint64_t)json_integer_value(json_object_get(body, "timeout")),
        .claim = claim,
        .claim_context = api,
    };
    if (request.name && request.count > 1)
        return error_set_field(err, ERR_INVALID_REQUEST, "/name",
                               "You can give a name only if you make a single fork.");
    if (principal_team(&api->principal, original->team_slug, NULL, &request.team, err) < 0 ||
        sandbox_take_timeout(api->worker.db, original, request.timeout_s, err) < 0)
        return -1;
    request.timeout_s = original->timeout_s;
    forks->list = xcalloc(request.count, sizeof *forks->list);
    forks->count = request.count;
    return sandbox_fork(&api->worker, original->id, &request, forks->list, err);
}

/* Fail with the first refusal when no sandbox was made. */
static int check_any(struct forks *forks, struct error **err)
{
    for (unsigned i = 0; i < forks->count; i++)
        if (!forks->list[i].failure)
            return 0;
    return forks->count
               ? error_move(err, &forks->list[0].failure)
               : error_set(
                     err, ERR_RUNTIME_UNAVAILABLE,
                     "The process that made the fork died, and no sandbox was created; try again.");
}

/* A refusal left nothing behind: the copy that the key names is deleted, and has no fork. */
static void free_key(struct api *api)
{
    error_auto failure = NULL;
    if (api->idempotency && idempotency_detach(api->worker.db, api->idempotency, &failure) < 0)
        log_warning("cannot free the Idempotency-Key of a refused fork; a repeated request with it "
                    "may get an error",
                    LOG_ERROR(failure));
}

/* Find the forks of an earlier attempt with the key, if it has made any. */
static int find(struct api *api, struct forks *forks, struct error **err)
{
    if (!api->access.checkpoint.for_fork)
        return 0;
    return sandbox_fork_found(api->worker.db, &api->access.checkpoint, &forks->list, &forks->count,
                              err);
}

int forks_make(struct api *api, const json_t *body, struct forks *forks, struct error **err)
{
    if (find(api, forks, err) < 0)
        return -1;
    if (forks->count)
        return check_any(forks, err);
    forks_deinit(forks);
    if (make(api, body, forks, err) == 0 && check_any(forks, err) == 0)
        return 0;
    if (error_http_status((*err)->code) < 500)
        free_key(api);
    return -1;
}

void forks_deinit(struct forks *forks)
{
    sandbox_forked_free(forks->list, forks->count);
    *forks = (struct forks){0};
}

int sandboxes_fork(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    forks_auto forks = {0};
    if (forks_make(api, request->json, &forks, err) < 0)
        return -1;
    json_t *list = json_array();
    for (unsigned i = 0; i < forks.count; i++) {
        const struct sandbox_forked *fork = &forks.list[i];
        json_array_append_new(
            list, fork->failure ? json_pack("{s:o}", "error", http_error_to_json(fork->failure))
                                : json_pack("{s:o}", "sandbox",
                                            sandbox_to_json(api->settings, &fork->sandbox)));
    }
    return http_response_json(response, 201, json_pack("{s:o}", "forks", list));
}
