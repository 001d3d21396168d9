/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/whole_list.h"

#include <sodium.h>
#include <string.h>

#include "api/page.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/str.h"

#define ROW_MAX   65536
#define SCOPE_MAX (2 * HTTP_QUERY_BYTES_MAX)
#define ROW_HASH  14 /* bytes of a row's hash in a token */

/* The bytes of a token: the last row of the page, the row after it, and the place of the last row
 * in the list. */
struct last {
    unsigned char place[4];
    unsigned char row[ROW_HASH], next[ROW_HASH];
};

/* The members that name a row: the first one that it has, and the members that may follow. */
#define PARTS_MAX 3
static const struct row_name {
    const char *member, *with[PARTS_MAX];
} row_names[] = {
    {"id", {NULL}},
    {"slug", {NULL}},
    {"tag", {NULL}},
    {"name", {"team"}},
    {"target", {"kind", "port", "protocol"}},
    {"port", {NULL}},
};

/* Hash the name of the row, so that a row whose other members changed is found again. */
static void hash_row(const json_t *row, unsigned char hash[ROW_HASH])
{
    unsigned char whole[crypto_generichash_BYTES_MIN];
    buffer_auto text = BUFFER_INIT(ROW_MAX);
    const struct row_name *name = row_names, *end = row_names + ARRAY_SIZE(row_names);
    while (name < end && !json_object_get(row, name->member))
        name++;
    json_text_value(&text, name < end ? json_object_get(row, name->member) : row);
    for (size_t i = 0; name < end && i < PARTS_MAX && name->with[i]; i++)
        if (json_object_get(row, name->with[i]))
            json_text_value(&text, json_object_get(row, name->with[i]));
    crypto_generichash(whole, sizeof whole, (const unsigned char *)buffer_string(&text), text.size,
                       NULL, 0);
    memcpy(hash, whole, ROW_HASH);
}

/* Write the scope of a token: the token is valid only for the same list of the same user. */
static void write_scope(const struct api *api, const struct http_request *request,
                        struct buffer *scope)
{
    const char *team = http_query(request, "team");
    buffer_printf(scope, "\n%s %s %s", request->path, api->principal.user_id, team ? team : "*");
}

/* Return the index of the first row of the page. A client may have deleted the rows of the page
 * before, so that the last one is gone and the next one has another place. */
static size_t find_begin(const json_t *rows, const struct last *last)
{
    size_t index, next = SIZE_MAX;
    json_t *row;
    json_array_foreach ((json_t *)rows, index, row) {
        unsigned char hash[ROW_HASH];
        hash_row(row, hash);
        if (!memcmp(hash, last->row, sizeof hash))
            return index + 1;
        if (next == SIZE_MAX && !memcmp(hash, last->next, sizeof hash))
            next = index;
    }
    return next < SIZE_MAX ? next
                           : (size_t)last->place[0] << 24 | (size_t)last->place[1] << 16 |
                                 (size_t)last->place[2] << 8 | last->place[3];
}

static int write_token(const struct api *api, const struct buffer *scope, const json_t *rows,
                       size_t place, char token[PAGE_TOKEN_SIZE], struct error **err)
{
    struct last last;
    for (unsigned i = 0; i < 4; i++)
        last.place[i] = (unsigned char)(place >> (24 - 8 * i));
    hash_row(json_array_get(rows, place), last.row);
    hash_row(json_array_get(rows, place + 1), last.next);
    return page_token_write(api->worker.ring, &last, sizeof last, scope, token, err);
}

int whole_list_cut(struct api *api, const struct route *route, const struct http_request *request,
                   struct http_response *response, struct error **err)
{
    const char *limit = http_query(request, "limit"), *token = http_query(request, "next_token");
    const json_t *rows =
        route->whole_list ? json_object_get(response->json, route->whole_list) : NULL;
    uint64_t most = limit ? 0 : PAGE_LIMIT_MAX;
    buffer_auto scope = BUFFER_INIT(SCOPE_MAX);
    struct last last;
    char next[PAGE_TOKEN_SIZE];
    if (!rows || (!limit && !token))
        return 0;
    if (limit && str_parse_u64(limit, 1, PAGE_LIMIT_MAX, &most) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "limit",
                               "limit must be a number from 1 to %d.", PAGE_LIMIT_MAX);
    write_scope(api, request, &scope);
    if (token && !page_token_read(api->worker.ring, token, &scope, &last, sizeof last))
        return error_set_field(err, ERR_INVALID_NEXT_TOKEN, "next_token",
                               "This next_token does not belong to this list.");
    size_t count = json_array_size(rows), begin = token ? find_begin(rows, &last) : 0;
    size_t end = begin + most < count ? begin + (size_t)most : count;
    if (end < count && write_token(api, &scope, rows, end - 1, next, err) < 0)
        return -1;
    json_t *page = json_array();
    for (size_t i = begin; i < end; i++)
        json_array_append(page, json_array_get(rows, i));
    if (end < count)
        json_object_set_new(response->json, "next_token", json_string(next));
    return json_object_set_new(response->json, route->whole_list, page);
}
