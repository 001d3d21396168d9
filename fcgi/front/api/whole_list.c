/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/whole_list.h"

#include <sodium.h>
#include <string.h>

#include "api/page.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/mac.h"

#define ROW_MAX   65536
#define SCOPE_MAX (2 * HTTP_QUERY_BYTES_MAX)

struct wire {
    unsigned char key_id[2];
    unsigned char place[4];
    unsigned char row[16];
    unsigned char mac[MAC_BYTES];
};
_Static_assert(sizeof(struct wire) == 2 + 4 + 16 + MAC_BYTES, "wire is packed");
_Static_assert(BASE64_SIZE(sizeof(struct wire)) <= PAGE_TOKEN_SIZE, "token fits");

/* Hash the name of the row, so that a row whose other members changed is found again. */
static void hash_row(const json_t *row, unsigned char hash[16])
{
    static const char *const names[] = {"id", "slug", "tag", "name", "port"};
    buffer_auto text = BUFFER_INIT(ROW_MAX);
    const json_t *name = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(names) && !name; i++)
        name = json_object_get(row, names[i]);
    json_text_value(&text, name ? name : row, 0);
    if (name && json_object_get(row, "team"))
        json_text_value(&text, json_object_get(row, "team"), 0);
    crypto_generichash(hash, 16, (const unsigned char *)buffer_string(&text), text.size, NULL, 0);
}

/* A token is valid for the same list of the same user only. */
static int compute_mac(const struct api *api, const struct http_request *request,
                       const struct wire *wire, unsigned char mac[MAC_BYTES], struct error **err)
{
    buffer_auto text = BUFFER_INIT(SCOPE_MAX);
    const char *team = http_query(request, "team");
    buffer_append(&text, wire->place, sizeof wire->place);
    buffer_append(&text, wire->row, sizeof wire->row);
    buffer_printf(&text, "\n%s %s %s", request->path, api->principal.user_id, team ? team : "*");
    if (buffer_overflowed(&text))
        return error_set(err, ERR_INTERNAL, "the path of a list is too long");
    return mac_compute(api->worker.ring, (uint16_t)(wire->key_id[0] << 8 | wire->key_id[1]),
                       KEY_PURPOSE_PAGE_TOKEN, text.data, text.size, mac, err);
}

static int read_token(const struct api *api, const struct http_request *request, const char *token,
                      struct wire *wire, struct error **err)
{
    unsigned char mac[MAC_BYTES];
    error_auto ignored = NULL;
    if (base64url_decode(token, wire, sizeof *wire) == sizeof *wire &&
        compute_mac(api, request, wire, mac, &ignored) == 0 && mac_equal(mac, wire->mac))
        return 0;
    return error_set_field(err, ERR_INVALID_NEXT_TOKEN, "next_token",
                           "This next_token does not belong to this list.");
}

/* Return the index of the first row of the page. */
static size_t find_begin(const json_t *rows, const struct wire *wire)
{
    size_t index;
    json_t *row;
    json_array_foreach ((json_t *)rows, index, row) {
        unsigned char hash[16];
        hash_row(row, hash);
        if (!memcmp(hash, wire->row, sizeof hash))
            return index + 1;
    }
    return (size_t)wire->place[0] << 24 | (size_t)wire->place[1] << 16 |
           (size_t)wire->place[2] << 8 | wire->place[3];
}

static int write_token(const struct api *api, const struct http_request *request,
                       const json_t *rows, size_t last, char token[PAGE_TOKEN_SIZE],
                       struct error **err)
{
    struct wire wire;
    uint16_t key_id = keyring_newest(api->worker.ring);
    wire.key_id[0] = (unsigned char)(key_id >> 8);
    wire.key_id[1] = (unsigned char)key_id;
    for (unsigned i = 0; i < 4; i++)
        wire.place[i] = (unsigned char)(last >> (24 - 8 * i));
    hash_row(json_array_get(rows, last), wire.row);
    if (compute_mac(api, request, &wire, wire.mac, err) < 0)
        return -1;
    base64url_encode(&wire, sizeof wire, token);
    return 0;
}

int whole_list_cut(struct api *api, const struct route *route, const struct http_request *request,
                   struct http_response *response, struct error **err)
{
    const char *limit = http_query(request, "limit"), *token = http_query(request, "next_token");
    const json_t *rows =
        route->whole_list ? json_object_get(response->json, route->whole_list) : NULL;
    uint64_t most = limit ? 0 : PAGE_LIMIT_MAX;
    struct wire wire;
    char next[PAGE_TOKEN_SIZE];
    if (!rows || (!limit && !token))
        return 0;
    if (limit && str_parse_u64(limit, 1, PAGE_LIMIT_MAX, &most) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "limit", "limit is a number from 1 to %d.",
                               PAGE_LIMIT_MAX);
    if (token && read_token(api, request, token, &wire, err) < 0)
        return -1;
    size_t count = json_array_size(rows), begin = token ? find_begin(rows, &wire) : 0;
    size_t end = begin + most < count ? begin + (size_t)most : count;
    if (end < count && write_token(api, request, rows, end - 1, next, err) < 0)
        return -1;
    json_t *page = json_array();
    for (size_t i = begin; i < end; i++)
        json_array_append(page, json_array_get(rows, i));
    if (end < count)
        json_object_set_new(response->json, "next_token", json_string(next));
    return json_object_set_new(response->json, route->whole_list, page);
}
