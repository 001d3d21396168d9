/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/api.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/progress.h"

#define TRIES_MAX       5
#define WAIT_S          1
#define WAIT_MAX_S      10
#define PAGE_ROWS       200
#define PAGES_MAX       1000
#define SHOWN_IDS       5 /* of objects with one name */

#define KEY_HEADER_SIZE 64

/* --- errors --- */

static enum error_code code_of(const char *api_code, long status)
{
    for (int code = 0; api_code && code <= ERR_INSUFFICIENT_STORAGE; code++)
        if (str_equal(error_api_code(code), api_code) && error_http_status(code) == status)
            return code;
    for (int code = 0; api_code && code <= ERR_INSUFFICIENT_STORAGE; code++)
        if (str_equal(error_api_code(code), api_code))
            return code;
    return status == 401   ? ERR_UNAUTHORIZED
           : status == 404 ? ERR_NOT_FOUND
           : status >= 502 ? ERR_RUNTIME_UNAVAILABLE
                           : ERR_INTERNAL;
}

int api_error(const struct exchange *exchange, struct error **err)
{
    json_auto_t *body = json_read(exchange->answer.data, exchange->answer.size, 0, NULL);
    const char *message = json_string_value(json_object_get(body, "message"));
    const char *field = json_string_value(json_object_get(body, "field"));
    enum error_code code =
        code_of(json_string_value(json_object_get(body, "error")), exchange->status);
    if (!message)
        return error_set(err, code, "%s answered with status %ld", exchange->url, exchange->status);
    if (exchange->retry_after_s > WAIT_MAX_S)
        return error_set(err, code, "%s The service asks to wait %u seconds.", message,
                         exchange->retry_after_s);
    return field ? error_set_field(err, code, field, "%s", message)
                 : error_set(err, code, "%s", message);
}

/* --- calls --- */

static bool is_put_off(const struct exchange *exchange)
{
    long status = exchange->status;
    return status == 429 || (status >= 502 && status <= 504);
}

/* The service says when another try may succeed; a longer wait is the user's to decide. */
static int run_patiently(struct cli *cli, struct exchange *exchange, struct error **err)
{
    for (int tries = 1;; tries++) {
        exchange->retry_after_s = 0;
        if (exchange_run(cli, exchange, err) < 0)
            return -1;
        unsigned wait_s = exchange->retry_after_s ? exchange->retry_after_s : WAIT_S;
        if (!is_put_off(exchange) || tries == TRIES_MAX || wait_s > WAIT_MAX_S)
            return 0;
        progress_show_wait(exchange->status == 429 ? "too many requests" : "the service is busy",
                           wait_s);
        sleep(wait_s);
        progress_end();
    }
}

static void make_key_header(char out[KEY_HEADER_SIZE])
{
    unsigned char random[16];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        memset(random, 0, sizeof random);
    size_t at = (size_t)snprintf(out, KEY_HEADER_SIZE, "Idempotency-Key: ");
    for (size_t i = 0; i < sizeof random; i++)
        at += (size_t)snprintf(out + at, KEY_HEADER_SIZE - at, "%02x", random[i]);
}

static int read_answer(const struct exchange *exchange, json_t **answer, struct error **err)
{
    if (exchange->status < 200 || exchange->status > 299)
        return api_error(exchange, err);
    if (!answer)
        return 0;
    *answer = NULL;
    if (!exchange->answer.size)
        return 0;
    *answer = json_loadb(exchange->answer.data, exchange->answer.size, JSON_ALLOW_NUL, NULL);
    return *answer
               ? 0
               : error_set(err, ERR_INTERNAL, "%s answered a text that is not JSON", exchange->url);
}

int api_call(struct cli *cli, const char *method, const char *path, json_t *body, json_t **answer,
             struct error **err)
{
    char key_header[KEY_HEADER_SIZE];
    autofree char *url = xasprintf("%s%s", cli->url, path);
    autowipe char *authorization = xasprintf("Authorization: Bearer %s", cli->key);
    autowipe char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    exchange_auto exchange = {.method = method, .url = url, .body = text};
    size_t headers = 0;
    exchange.body_size = text ? strlen(text) : 0;
    exchange.headers[headers++] = authorization;
    if (text)
        exchange.headers[headers++] = "Content-Type: application/json";
    if (!str_equal(method, "GET") && !str_ends_with(path, "/network/check")) {
        make_key_header(key_header);
        exchange.headers[headers++] = key_header;
    }
    if (run_patiently(cli, &exchange, err) < 0)
        return -1;
    return read_answer(&exchange, answer, err);
}

char *api_escape(const char *text)
{
    char *escaped = curl_easy_escape(NULL, text, 0);
    char *copy = xstrdup(escaped ? escaped : "");
    curl_free(escaped);
    return copy;
}

void api_add_query(struct buffer *path, const char *name, const char *value)
{
    if (!value)
        return;
    autofree char *escaped_name = api_escape(name);
    autofree char *escaped = api_escape(value);
    buffer_printf(path, "%c%s=%s", strchr(buffer_string(path), '?') ? '&' : '?', escaped_name,
                  escaped);
}

void api_add_time(struct buffer *path, const char *name, const char *value)
{
    char at[CLOCK_ISO8601_SIZE];
    uint64_t seconds;
    if (value && duration_parse(value, &seconds) == 0)
        value = clock_format_iso8601(clock_now_ms() - (int64_t)seconds * 1000, at);
    api_add_query(path, name, value);
}

char *api_path(const char *before, const char *after, const char *value)
{
    autofree char *escaped = api_escape(value);
    return xasprintf("%s%s%s", before, escaped, after);
}

int api_list(struct cli *cli, const char *path, const char *member, json_t **rows,
             struct error **err)
{
    json_auto_t *all = json_array();
    autofree char *next = NULL;
    for (int page = 0; page < PAGES_MAX; page++) {
        autofree char *token = next ? api_escape(next) : NULL;
        autofree char *target =
            xasprintf("%s%climit=%d%s%s", path, strchr(path, '?') ? '&' : '?', PAGE_ROWS,
                      token ? "&next_token=" : "", token ? token : "");
        json_auto_t *answer = NULL;
        if (api_call(cli, "GET", target, NULL, &answer, err) < 0)
            return -1;
        json_array_extend(all, json_object_get(answer, member));
        const char *following = json_string_value(json_object_get(answer, "next_token"));
        free(next);
        next = xstrdup_or_null(following);
        if (!next)
            break;
    }
    *rows = steal_pointer(&all);
    return 0;
}

/* --- names --- */

/* " ID of team TEAM, …" for the first rows. */
static const char *list_ids(const json_t *rows, char ids[SHOWN_IDS * 128])
{
    size_t used = 0, index;
    json_t *row;
    ids[0] = '\0';
    json_array_foreach ((json_t *)rows, index, row) {
        const char *id = json_string_value(json_object_get(row, "id"));
        const char *team = json_string_value(json_object_get(row, "team"));
        if (index == SHOWN_IDS)
            break;
        used += (size_t)snprintf(ids + used, 128, "%s %.40s%s%.63s", index ? "," : "",
                                 id ? id : "?", team ? " of team " : "", team ? team : "");
    }
    return ids;
}

/* The one row, or an error when there is not exactly one. */
static int only_id(const json_t *rows, const char *what, const char *word, char **id,
                   struct error **err)
{
    char ids[SHOWN_IDS * 128];
    size_t count = json_array_size(rows);
    if (count > 1)
        return error_set(err, ERR_INVALID_REQUEST,
                         "%zu %s%s have the name '%s'; give the id of one:%s", count, what,
                         str_ends_with(what, "x") ? "es" : "s", word, list_ids(rows, ids));
    if (!count)
        return error_set(err, ERR_NOT_FOUND, "there is no %s '%s'", what, word);
    *id = xstrdup(json_string_value(json_object_get(json_array_get(rows, 0), "id")));
    return 0;
}

int api_sandbox_id(struct cli *cli, const char *word, char **id, struct error **err)
{
    json_auto_t *rows = NULL;
    *id = NULL;
    if (str_starts_with(word, "sbx_")) {
        *id = xstrdup(word);
        return 0;
    }
    autofree char *path = api_path("/v1/sandboxes?name=", "", word);
    if (api_list(cli, path, "sandboxes", &rows, err) < 0)
        return -1;
    return only_id(rows, "sandbox", word, id, err);
}

int api_call_sandbox(struct cli_call *call, const char *method, const char *what, json_t *body,
                     json_t **answer, struct error **err)
{
    autofree char *id = NULL;
    json_auto_t *owned = body;
    if (api_sandbox_id(call->cli, cli_operand(call, 0), &id, err) < 0)
        return -1;
    autofree char *path = api_path("/v1/sandboxes/", what, id);
    return api_call(call->cli, method, path, json_incref(owned), answer, err);
}

int api_volume_id(struct cli *cli, const char *word, char **id, struct error **err)
{
    json_auto_t *rows = NULL;
    json_auto_t *found = json_array();
    size_t index;
    json_t *row;
    *id = NULL;
    if (str_starts_with(word, "vol_")) {
        *id = xstrdup(word);
        return 0;
    }
    if (api_list(cli, "/v1/volumes", "volumes", &rows, err) < 0)
        return -1;
    json_array_foreach (rows, index, row)
        if (str_equal(json_string_value(json_object_get(row, "name")), word))
            json_array_append(found, row);
    return only_id(found, "volume", word, id, err);
}

/* Whether a row has the same team. Rows are newest first, so it is a newer version then. */
static bool has_team(const json_t *rows, const json_t *row)
{
    const char *team = json_string_value(json_object_get(row, "team"));
    const json_t *other;
    size_t index;
    json_array_foreach ((json_t *)rows, index, other)
        if (str_equal(json_string_value(json_object_get(other, "team")), team))
            return true;
    return false;
}

int api_checkpoint_id(struct cli *cli, const char *word, bool newest, char **id, struct error **err)
{
    json_auto_t *rows = NULL;
    json_auto_t *found = json_array();
    const char *colon = strrchr(word, ':');
    uint64_t version = 0;
    size_t index;
    json_t *row;
    *id = NULL;
    if (str_starts_with(word, "ckp_")) {
        *id = xstrdup(word);
        return 0;
    }
    if (colon && str_parse_u64(colon + 1, 1, UINT32_MAX, &version) < 0)
        colon = NULL; /* a tag of E2B's clients is part of the name */
    autofree char *name = xstrndup(word, colon ? (size_t)(colon - word) : strlen(word));
    autofree char *path = api_path("/v1/checkpoints?name=", "", name);
    if (api_list(cli, path, "checkpoints", &rows, err) < 0)
        return -1;
    json_array_foreach (rows, index, row) {
        json_int_t its_version = json_integer_value(json_object_get(row, "version"));
        bool fits = version ? (json_int_t)version == its_version : !newest || !has_team(found, row);
        if (fits)
            json_array_append(found, row);
    }
    return only_id(found, "checkpoint", word, id, err);
}

/* --- sessions --- */

/* A verb with several sandboxes has resumed the first already. */
static bool session_inherit(struct session *session)
{
    const char *url = getenv("SANDLOT_SESSION_URL"), *token = getenv("SANDLOT_SESSION_TOKEN");
    if (!url || !*url || !token || !*token)
        return false;
    session->url = xstrdup(url);
    session->token_header = xasprintf("X-Access-Token: %s", token);
    return true;
}

int session_open(struct cli *cli, const char *word, struct session *session, struct error **err)
{
    json_auto_t *answer = NULL;
    if (api_sandbox_id(cli, word, &session->id, err) < 0)
        return -1;
    if (session_inherit(session))
        return 0;
    autofree char *path = api_path("/v1/sandboxes/", "/connect", session->id);
    if (api_call(cli, "POST", path, NULL, &answer, err) < 0)
        return -1;
    const json_t *found = json_object_get(answer, "session");
    const char *url = json_string_value(json_object_get(found, "data_plane_url"));
    const char *token = json_string_value(json_object_get(found, "access_token"));
    if (!url || !token)
        return error_set(err, ERR_INTERNAL, "the answer of %s%s has no member session", cli->url,
                         path);
    session->url = xstrdup(url);
    session->token_header = xasprintf("X-Access-Token: %s", token);
    return 0;
}

void session_close(struct session *session)
{
    free(session->id);
    free(session->url);
    mem_wipe_free(session->token_header);
}

int session_run(struct cli *cli, const struct session *session, json_t *call, const char *what,
                char **output, struct error **err)
{
    json_auto_t *answer = NULL;
    autofree char *url = xasprintf("%s/exec", session->url);
    autofree char *text = json_dumps(call, JSON_COMPACT);
    json_decref(call);
    exchange_auto exchange = {
        .method = "POST",
        .url = url,
        .headers = {session->token_header, "Content-Type: application/json"},
        .body = text,
        .body_size = strlen(text),
    };
    if (exchange_run(cli, &exchange, err) < 0 || read_answer(&exchange, &answer, err) < 0)
        return -1;
    if (json_integer_value(json_object_get(answer, "exit_code")) != 0) {
        const char *said = json_string_value(json_object_get(answer, "stderr"));
        return error_set(err, ERR_INTERNAL, "%s in the sandbox: %.*s", what,
                         (int)strcspn(said ? said : "", "\n"), said ? said : "");
    }
    if (output)
        *output = xstrdup(json_string_value(json_object_get(answer, "stdout")));
    return 0;
}
