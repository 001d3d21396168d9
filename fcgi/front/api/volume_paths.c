/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories of volumes, and operations on paths. */
#include <string.h>

#include "api/page_token.h"
#include "api/volume_path.h"
#include "base/mem.h"
#include "base/str.h"

#define LIST_LIMIT_MAX 1000
#define DEPTH_MAX      64
#define SCOPE_MAX      (VOLUME_PATH_MAX + 1024)

const struct schema_member volume_directory_schema[] = {
    {.name = "path", .type = SCHEMA_STRING, .required = true, .check = volume_path_member_check},
    VOLUME_ATTRIBUTES,
    {.name = NULL},
};

const struct schema_member volume_update_schema[] = {
    {.name = "path", .type = SCHEMA_STRING, .required = true, .check = volume_path_member_check},
    VOLUME_ATTRIBUTES,
    {.name = NULL},
};

/* from_b64: for a name that is not text. */
const struct schema_member volume_move_schema[] = {
    {.name = "from", .type = SCHEMA_STRING, .check = volume_path_member_check},
    {.name = "from_b64", .type = SCHEMA_STRING, .max = 2 * VOLUME_PATH_MAX},
    {.name = "to", .type = SCHEMA_STRING, .required = true, .check = volume_path_member_check},
    {.name = NULL},
};

/* --- pages of a directory --- */

#define POSITION_BYTES 8

/* Write the scope of a page token. A token is a position in one directory. */
static void write_scope(const struct api *api, const struct http_request *request, const char *path,
                        struct buffer *scope)
{
    buffer_printf(scope, "\n%s %s %s ", request->operation, api->principal.user_id,
                  request->captures[0]);
    buffer_append_string(scope, path);
}

static int read_token(const struct api *api, const struct http_request *request, const char *path,
                      uint64_t *position, struct error **err)
{
    const char *token = http_query(request, "next_token");
    buffer_auto scope = BUFFER_INIT(SCOPE_MAX);
    unsigned char bytes[POSITION_BYTES];
    *position = 0;
    if (!token)
        return 0;
    write_scope(api, request, path, &scope);
    if (!page_token_read(api->worker.ring, token, &scope, bytes, sizeof bytes))
        return error_set_field(err, ERR_INVALID_NEXT_TOKEN, "next_token",
                               "This next_token does not belong to a list of this directory.");
    for (size_t i = 0; i < sizeof bytes; i++)
        *position = *position << 8 | bytes[i];
    return 0;
}

static int write_token(const struct api *api, const struct http_request *request, const char *path,
                       uint64_t position, json_t *body, struct error **err)
{
    buffer_auto scope = BUFFER_INIT(SCOPE_MAX);
    unsigned char bytes[POSITION_BYTES];
    char token[PAGE_TOKEN_SIZE];
    write_scope(api, request, path, &scope);
    for (size_t i = sizeof bytes; i-- > 0; position >>= 8)
        bytes[i] = (unsigned char)position;
    if (page_token_write(api->worker.ring, bytes, sizeof bytes, &scope, token, err) < 0)
        return -1;
    json_object_set_new(body, "next_token", json_string(token));
    return 0;
}

static int list_page(struct api *api, const struct http_request *request,
                     struct http_response *response, struct error **err)
{
    buffer_auto query = BUFFER_INIT(VOLUME_QUERY_MAX);
    const char *path, *limit_text = http_query(request, "limit");
    uint64_t limit = LIST_LIMIT_MAX, position;
    json_t *body;
    int status;
    if (limit_text && str_parse_u64(limit_text, 1, LIST_LIMIT_MAX, &limit) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "limit",
                               "limit must be a number from 1 to %d.", LIST_LIMIT_MAX);
    if (volume_path_query(request, &path, err) < 0 ||
        read_token(api, request, path, &position, err) < 0)
        return -1;
    volume_query_add(&query, "path", path);
    buffer_printf(&query, "limit=%llu&after=%llu", (unsigned long long)limit,
                  (unsigned long long)position);
    struct volume_files_call call = {
        .method = "GET",
        .resource = "directory",
        .query = buffer_string(&query),
        .field = "path",
    };
    if (volume_files_ask(api, &call, &body, &status, err) < 0)
        return -1;
    uint64_t next = (uint64_t)json_integer_value(json_object_get(body, "next"));
    json_object_del(body, "next");
    if (next && write_token(api, request, path, next, body, err) < 0) {
        json_decref(body);
        return -1;
    }
    return http_response_json(response, 200, body);
}

/* --- a directory with its subdirectories --- */

/* List a tree as a whole, because positions in several directories cannot form a page. */
static int list_tree(struct api *api, const struct http_request *request, uint64_t depth,
                     struct http_response *response, struct error **err)
{
    static const char *const paged[] = {"limit", "next_token"};
    buffer_auto query = BUFFER_INIT(VOLUME_QUERY_MAX);
    const char *path;
    json_t *body;
    int status;
    for (size_t i = 0; i < ARRAY_SIZE(paged); i++)
        if (http_query(request, paged[i]))
            return error_set_field(
                err, ERR_INVALID_REQUEST, paged[i],
                "A list of several levels has no pages; leave out limit and next_token.");
    if (volume_path_query(request, &path, err) < 0)
        return -1;
    volume_query_add(&query, "path", path);
    buffer_printf(&query, "depth=%llu", (unsigned long long)depth);
    struct volume_files_call call = {
        .method = "GET",
        .resource = "tree",
        .query = buffer_string(&query),
        .field = "path",
    };
    if (volume_files_ask(api, &call, &body, &status, err) < 0)
        return -1;
    return http_response_json(response, 200, body);
}

int volume_directories_list(void *context, struct http_request *request,
                            struct http_response *response, struct error **err)
{
    const char *text = http_query(request, "depth");
    uint64_t depth = 1;
    if (text && str_parse_u64(text, 1, DEPTH_MAX, &depth) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "depth",
                               "depth must be a number from 1 to %d.", DEPTH_MAX);
    return depth == 1 ? list_page(context, request, response, err)
                      : list_tree(context, request, depth, response, err);
}

/* --- calls that answer with an entry --- */

static int answer_entry(struct api *api, struct http_response *response,
                        const struct volume_files_call *call, const char *path, struct error **err)
{
    json_t *entry;
    int status;
    if (volume_files_ask(api, call, &entry, &status, err) < 0)
        return -1;
    return http_response_json(response, status, volume_entry_to_json(path, entry));
}

int volume_directories_put(void *context, struct http_request *request,
                           struct http_response *response, struct error **err)
{
    buffer_auto query = BUFFER_INIT(VOLUME_QUERY_MAX);
    const char *path = json_string_value(json_object_get(request->json, "path"));
    /* The kernel accepts no slash after the name of a new directory. */
    autofree char *plain = xstrdup(path);
    for (size_t length = strlen(plain); length > 1 && plain[length - 1] == '/'; length--)
        plain[length - 1] = '\0';
    volume_query_add(&query, "path", plain);
    volume_query_add_attributes(&query, request->json);
    struct volume_files_call call = {
        .method = "PUT",
        .resource = "directory",
        .query = buffer_string(&query),
        .field = "/path",
        .changes = true,
    };
    return answer_entry(context, response, &call, path, err);
}

int volume_paths_show(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    buffer_auto query = BUFFER_INIT(VOLUME_QUERY_MAX);
    const char *path;
    if (volume_path_query(request, &path, err) < 0)
        return -1;
    volume_query_add(&query, "path", path);
    struct volume_files_call call = {
        .method = "GET", .resource = "path", .query = buffer_string(&query), .field = "path"};
    return answer_entry(context, response, &call, path, err);
}

int volume_paths_update(void *context, struct http_request *request, struct http_response *response,
                        struct error **err)
{
    buffer_auto query = BUFFER_INIT(VOLUME_QUERY_MAX);
    const char *path = json_string_value(json_object_get(request->json, "path"));
    if (json_object_size(request->json) < 2)
        return error_set_field(err, ERR_INVALID_REQUEST, "/mode",
                               "The request changes nothing: give mode, uid or gid.");
    volume_query_add(&query, "path", path);
    volume_query_add_attributes(&query, request->json);
    struct volume_files_call call = {
        .method = "PATCH",
        .resource = "path",
        .query = buffer_string(&query),
        .field = "/path",
        .changes = true,
    };
    return answer_entry(context, response, &call, path, err);
}

int volume_paths_delete(void *context, struct http_request *request, struct http_response *response,
                        struct error **err)
{
    buffer_auto query = BUFFER_INIT(VOLUME_QUERY_MAX);
    const char *path, *recursive = http_query(request, "recursive");
    json_auto_t *nothing = NULL;
    int status;
    if (volume_path_query(request, &path, err) < 0)
        return -1;
    if (recursive && !str_equal(recursive, "true") && !str_equal(recursive, "false"))
        return error_set_field(err, ERR_INVALID_REQUEST, "recursive",
                               "recursive must be true or false.");
    volume_query_add(&query, "path", path);
    buffer_printf(&query, "recursive=%d", str_equal(recursive, "true"));
    struct volume_files_call call = {
        .method = "DELETE",
        .resource = "path",
        .query = buffer_string(&query),
        .field = "path",
        .changes = true,
    };
    if (volume_files_ask(context, &call, &nothing, &status, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}

/* Read the path to move from: text, or bytes in base64. The caller frees *owned. */
static int read_from(const json_t *body, const char **from, char **owned, struct error **err)
{
    const json_t *bytes = json_object_get(body, "from_b64");
    size_t size;
    *from = json_string_value(json_object_get(body, "from"));
    if (!*from == !bytes)
        return error_set_field(err, ERR_INVALID_REQUEST, "/from", "Give one of from and from_b64.");
    if (*from)
        return 0;
    *owned = xcalloc(1, VOLUME_PATH_MAX + 1);
    *from = *owned;
    if (base64_decode(json_string_value(bytes), json_string_length(bytes), *owned, VOLUME_PATH_MAX,
                      &size) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "/from_b64",
                               "The value must be the base64 of at most 4095 bytes.");
    return volume_path_check(*owned, size, "/from_b64", err);
}

int volume_paths_move(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    buffer_auto query = BUFFER_INIT(VOLUME_QUERY_MAX);
    autofree char *owned = NULL;
    const char *from, *to = json_string_value(json_object_get(request->json, "to"));
    if (read_from(request->json, &from, &owned, err) < 0)
        return -1;
    volume_query_add(&query, "from", from);
    volume_query_add(&query, "to", to);
    struct volume_files_call call = {
        .method = "POST",
        .resource = "move",
        .query = buffer_string(&query),
        .field = "/to",
        .from = owned ? "/from_b64" : "/from",
        .changes = true,
    };
    return answer_entry(context, response, &call, to, err);
}
