/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "account/token_key.h"
#include "api/answer_cache.h"
#include "api/api.h"
#include "api/network_input.h"
#include "api/page_list.h"
#include "api/sandbox_input.h"
#include "api/sandbox_output.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/sandbox_network.h"

/* Check what needs no locks before a password is stored, so that a refused request changes
 * nothing. */
static int check_before(struct api *api, const struct sandbox_create *create,
                        const struct proxy_password *password, struct error **err)
{
    return password && password->value ? sandbox_create_check(&api->worker, create, err) : 0;
}

struct creation {
    struct api *api;
    char id[ID_SIZE];
};

static int claim_creation(struct db *db, const char *id, void *context, struct error **err)
{
    struct creation *creation = context;
    snprintf(creation->id, sizeof creation->id, "%s", id);
    return api_claim(db, id, creation->api, err);
}

/* The answer has a token. */
static int finish_creation(struct db *db, void *context, struct error **err)
{
    struct creation *creation = context;
    if (token_key_note_new(db, &creation->api->principal, creation->id, err) < 0)
        return -1;
    return api_made(creation->api, err);
}

int sandboxes_create_from(struct api *api, const json_t *body,
                          const struct proxy_password *password, struct sandbox *sandbox,
                          struct error **err)
{
    struct sandbox_input input = {0};
    autofree char *network = NULL;
    input.create.team = api->access.team;
    input.create.user_id = api->principal.user_id;
    struct creation creation = {.api = api};
    input.create.claim = claim_creation;
    input.create.made = finish_creation;
    input.create.claim_context = &creation;
    input.create.leaves_warm = pool_repeats(api->pool);
    input.create.no_copying = api->hand_on_to != NULL;
    int result = 0;
    if (sandbox_input_read(body, &input, err) < 0 ||
        check_before(api, &input.create, password, err) < 0 ||
        network_input_read(api, body, password, &network, err) < 0)
        result = -1;
    input.create.network = network;
    if (result == 0 && sandbox_create(&api->worker, &input.create, sandbox, err) < 0)
        result = -1;
    sandbox_input_deinit(&input);
    return result;
}

int sandboxes_create(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    struct sandbox *sandbox = &api->access.sandbox;
    json_t *session;
    if (!api->access.made && sandboxes_create_from(api, request->json, NULL, sandbox, err) < 0)
        return -1;
    log_context_set("sandbox", sandbox->id);
    if (api_new_session(api, sandbox, NULL, &session, err) < 0)
        return -1;
    json_t *body = sandbox_to_json(api->settings, sandbox);
    json_object_set_new(body, "session", session);
    return http_response_json(response, 201, body);
}

PAGE_ROW(struct sandbox);

static int list_rows(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                     struct error **err)
{
    struct sandbox *sandboxes;
    int result = sandbox_list(db, query->team_id, &query->page->filter, query->before, query->limit,
                              &sandboxes, count, query->cut, err);
    for (unsigned i = 0; i < *count; i++)
        snprintf(sandboxes[i].team_slug, sizeof sandboxes[i].team_slug, "%s", query->team_slug);
    *rows = sandboxes;
    return result;
}

static void row_deinit(void *row)
{
    sandbox_deinit(row);
}

static size_t row_size(const void *row)
{
    const struct sandbox *sandbox = row;
    return strlen(sandbox->metadata) + strlen(sandbox->network);
}

const struct page_kind sandboxes_page = {
    .member = "sandboxes",
    .row_size = sizeof(struct sandbox),
    .list = list_rows,
    .deinit = row_deinit,
    .size = row_size,
};

int sandboxes_show(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    const struct access *access = &api->access;
    struct buffer *body = &response->body;
    (void)request;
    (void)err;
    if (access->shown) {
        buffer_append(body, access->shown->text, access->shown->size);
        return 0;
    }
    sandbox_write(api->settings, &access->sandbox, body);
    if (!body->overflowed)
        shown_keep(&access->sandbox, body->data, body->size);
    return 0;
}

/* Leave a change that ends open previews to a pool that reaches hosts. Nothing is changed yet. */
static int check_closing(const struct api *api, const struct sandbox_update *update,
                         struct error **err)
{
    const struct sandbox *sandbox = &api->access.sandbox;
    bool closes = update->chosen.allow_public_traffic && !update->choices.allow_public_traffic &&
                  sandbox->allow_public_traffic && sandbox_has_packets(sandbox->state);
    return closes && api->hand_on_to
               ? error_set(err, ERR_COPY_FIRST, "The host of the sandbox must end its previews.")
               : 0;
}

int sandboxes_update(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    struct sandbox_update update;
    sandbox_auto updated = {0};
    sandbox_update_read(request->json, &update);
    if (check_closing(api, &update, err) < 0 ||
        sandbox_update(&api->worker, api->access.sandbox.id, &update, &updated, err) < 0)
        return -1;
    return http_response_json(response, 200, sandbox_to_json(api->settings, &updated));
}

int sandboxes_delete(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    (void)request;
    if (sandbox_destroy(&api->worker, api->access.sandbox.id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}

int sandboxes_pause(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    sandbox_auto paused = {0};
    bool keep_memory = !json_is_false(json_object_get(request->json, "memory"));
    if (sandbox_pause(&api->worker, api->access.sandbox.id, keep_memory, &paused, err) < 0)
        return -1;
    return http_response_json(response, 200, sandbox_to_json(api->settings, &paused));
}

int sandboxes_rollback(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    const struct sandbox *sandbox = &api->access.sandbox;
    sandbox_auto restored = {0};
    struct sandbox_rollback how = {
        .checkpoint = json_string_value(json_object_get(request->json, "checkpoint")),
        .timeout_s = (uint64_t)json_integer_value(json_object_get(request->json, "timeout")),
    };
    if (principal_team(&api->principal, sandbox->team_slug, NULL, &how.team, err) < 0 ||
        sandbox_rollback(&api->worker, sandbox->id, &how, &restored, err) < 0)
        return -1;
    return http_response_json(response, 200, sandbox_to_json(api->settings, &restored));
}

static int hold(struct api *api, uint32_t hold_s, struct http_response *response,
                struct error **err)
{
    sandbox_auto held = {0};
    if (sandbox_hold(&api->worker, api->access.sandbox.id, hold_s, &held, err) < 0)
        return -1;
    return http_response_json(response, 200, sandbox_to_json(api->settings, &held));
}

int sandboxes_hold(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    uint32_t hold_s = (uint32_t)json_integer_value(json_object_get(request->json, "seconds"));
    return hold(context, hold_s, response, err);
}

int sandboxes_release(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    (void)request;
    return hold(context, 0, response, err);
}

int sandboxes_resume(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    sandbox_auto resumed = {0};
    const struct sandbox_resume how = {
        .timeout_s = (uint64_t)json_integer_value(json_object_get(request->json, "timeout")),
        .extend_only = json_is_true(json_object_get(request->json, "extend_only")),
        .without_memory = json_is_false(json_object_get(request->json, "memory")),
        .no_copying = api->hand_on_to != NULL,
    };
    json_t *session;
    if (sandbox_resume(&api->worker, api->access.sandbox.id, &how, &resumed, err) < 0 ||
        api_new_session(api, &resumed, NULL, &session, err) < 0)
        return -1;
    return http_response_json(response, 200,
                              json_pack("{s:o, s:o}", "session", session, "sandbox",
                                        sandbox_to_json(api->settings, &resumed)));
}
