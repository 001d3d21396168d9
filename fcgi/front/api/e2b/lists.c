/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists: translate the parameters into those of /v1, and a page of /v1 into E2B's form. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/e2b/e2b.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/ulid.h"

#define LIMIT_DEFAULT 100
#define NO_SANDBOX    "sbx_00000000000000000000000000" /* the id of no sandbox */

int e2b_add_parameter(struct http_request *request, char *name, char *value, struct error **err)
{
    if (request->query_count == HTTP_QUERY_MAX) {
        free(name);
        free(value);
        return error_set_field(err, ERR_INVALID_REQUEST, "metadata",
                               "The request has too many filters.");
    }
    request->query[request->query_count++] = (struct http_parameter){
        .name = name,
        .value = value,
        .name_size = strlen(name),
        .value_size = strlen(value),
        .name_is_text = true,
        .value_is_text = true,
    };
    return 0;
}

static int bad_metadata(struct error **err)
{
    return error_set_field(err, ERR_INVALID_REQUEST, "metadata",
                           "Write metadata as key=value pairs of a form, and percent-encode each "
                           "key and value once more.");
}

/* Decode a text twice: as part of the query, and by itself. */
static int decode_twice(const char *text, char **out)
{
    autofree char *once = NULL;
    if (http_percent_decode(text, strlen(text), true, &once) < 0)
        return -1;
    return http_percent_decode(once, strlen(once), false, out);
}

static int add_metadata(struct http_request *request, const char *value, struct error **err)
{
    autofree char *copy = xstrdup(value);
    char *rest = copy;
    for (char *pair; (pair = strsep(&rest, "&"));) {
        char *name = strsep(&pair, "=");
        autofree char *key = NULL;
        char *text = NULL;
        if (!*name)
            continue;
        if (decode_twice(name, &key) < 0 || decode_twice(pair ? pair : "", &text) < 0)
            return bad_metadata(err);
        if (e2b_add_parameter(request, xasprintf("query[metadata][%s]", key), text, err) < 0)
            return -1;
    }
    return 0;
}

/* Add the states of /v1 that are one state at E2B. */
static int add_state(struct http_request *request, bool running, struct error **err)
{
    for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++) {
        enum sandbox_state state = (enum sandbox_state)i;
        bool is_a_filter = sandbox_state_is_shown(state) && sandbox_state_told(state) == state;
        if (is_a_filter && e2b_is_running(state) == running &&
            e2b_add_parameter(request, xstrdup("query[state][]"),
                              xstrdup(sandbox_state_name(state)), err) < 0)
            return -1;
    }
    return 0;
}

static int add_states(struct http_request *request, const char *value, struct error **err)
{
    autofree char *copy = xstrdup(value);
    char *rest = copy;
    for (char *state; (state = strsep(&rest, ","));) {
        bool running = str_equal(state, "running");
        if (!running && !str_equal(state, "paused"))
            return error_set_field(err, ERR_INVALID_REQUEST, "state",
                                   "A state must be running or paused.");
        if (add_state(request, running, err) < 0)
            return -1;
    }
    return 0;
}

/* Add the filter for a sandbox. Without such a sandbox, which may be deleted, the list is empty. */
static int add_sandbox(struct api *api, struct http_request *request, const char *route,
                       struct error **err)
{
    char id[ID_SIZE];
    autofree char *token = xstrndup(route, strcspn(route, "-"));
    error_auto missing = NULL;
    if (!route_token_is_valid(token) ||
        sandbox_id_of_route(api->worker.db, token, id, &missing) < 0) {
        if (missing && missing->code != ERR_NOT_FOUND)
            return error_move(err, &missing);
        snprintf(id, sizeof id, NO_SANDBOX);
    }
    return e2b_add_parameter(request, xstrdup("sandbox_id"), xstrdup(id), err);
}

static int rename_parameter(struct http_parameter *parameter, const char *name)
{
    free(parameter->name);
    parameter->name = xstrdup(name);
    parameter->name_size = strlen(name);
    return 0;
}

/* Move a start time back by 1 ms: E2B's start includes the time itself, that of /v1 does not. */
static int start_at(struct http_parameter *parameter)
{
    char before[CLOCK_ISO8601_SIZE];
    int64_t at_ms;
    if (clock_parse_iso8601(parameter->value, &at_ms) == 0) {
        free(parameter->value);
        parameter->value = xstrdup(clock_format_iso8601(at_ms ? at_ms - 1 : 0, before));
        parameter->value_size = strlen(parameter->value);
    }
    return rename_parameter(parameter, "started_after");
}

static int rename_template(struct api *api, struct http_parameter *parameter, struct error **err)
{
    if (e2b_read_template_name(api, &parameter->value, err) < 0)
        return -1;
    parameter->value_size = strlen(parameter->value);
    return 0;
}

static int translate(struct api *api, struct http_request *request, size_t at, struct error **err)
{
    struct http_parameter *parameter = &request->query[at];
    if (str_equal(parameter->name, "nextToken"))
        return rename_parameter(parameter, "next_token");
    if (str_equal(parameter->name, "startedAfter"))
        return start_at(parameter);
    if (str_equal(parameter->name, "state"))
        return add_states(request, parameter->value, err);
    if (str_equal(parameter->name, "metadata"))
        return add_metadata(request, parameter->value, err);
    if (str_equal(parameter->name, "sandboxID"))
        return add_sandbox(api, request, parameter->value, err);
    if (str_equal(parameter->name, "template"))
        return rename_template(api, parameter, err);
    return 0;
}

int e2b_list_query(struct api *api, struct http_request *request, struct error **err)
{
    size_t given = request->query_count;
    for (size_t i = 0; i < given; i++)
        if (translate(api, request, i, err) < 0)
            return -1;
    return 0;
}

/* Answer with a bare array, and the header X-Next-Token. */
static void answer_page(struct http_response *response, const char *member)
{
    const char *next = json_string_value(json_object_get(response->json, "next_token"));
    json_t *rows = json_incref(json_object_get(response->json, member));
    if (next)
        http_response_header(response, "X-Next-Token", "%s", next);
    json_decref(response->json);
    response->json = rows;
}

int e2b_default_limit(struct http_request *request, unsigned limit, struct error **err)
{
    return http_query(request, "limit")
               ? 0
               : e2b_add_parameter(request, xstrdup("limit"), xasprintf("%u", limit), err);
}

int e2b_list(struct api *api, const struct page_kind *kind, struct http_request *request,
             struct http_response *response, struct error **err)
{
    if (e2b_default_limit(request, LIMIT_DEFAULT, err) < 0 ||
        e2b_list_query(api, request, err) < 0 || page_list(api, kind, request, response, err) < 0)
        return -1;
    answer_page(response, kind->member);
    return 0;
}

int e2b_read_second(const struct http_request *request, const char *name, int64_t *at_ms,
                    struct error **err)
{
    const char *text = http_query(request, name);
    uint64_t second;
    if (!text)
        return 0;
    if (str_parse_u64(text, 0, INT32_MAX, &second) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, name, "%s must be in seconds since 1970.",
                               name);
    *at_ms = (int64_t)second * 1000;
    return 0;
}
