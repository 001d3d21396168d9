/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/media_type.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/ulid.h"
#include "http/http.h"

#define HEADER_NAME_MAX 64
#define FIELD_NAME_MAX  80 /* bytes of a bad parameter's name that an error repeats */

static const char id_characters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

static void take_request_id(struct http_request *request)
{
    const char *given = http_parameter(request, "SANDLOT_REQUEST_ID");
    size_t length = given ? strlen(given) : 0;
    if (length > 0 && length <= HTTP_REQUEST_ID_MAX && strspn(given, id_characters) == length)
        memcpy(request->request_id, given, length + 1);
    else
        id_new("req_", request->request_id);
}

/* Decode the characters that need no encoding: with and without it they are the same (RFC 3986,
 * section 6.2.2.2). */
static char *read_path(const char *uri)
{
    size_t size = strcspn(uri, "?"), length = 0;
    char *path = xstrndup(uri, size);
    for (size_t at = 0; at < size; at++) {
        char *c = NULL;
        if (uri[at] == '%' && size - at > 2 && http_percent_decode(uri + at, 3, false, &c) == 0 &&
            (isalnum((unsigned char)*c) || strchr("-._~", *c))) {
            path[length++] = *c;
            at += 2;
        } else {
            path[length++] = uri[at];
        }
        free(c);
    }
    path[length] = '\0';
    return path;
}

void http_request_init(struct http_request *request, char **parameters, size_t body_max)
{
    memset(request, 0, sizeof *request);
    request->parameters = parameters;
    request->started_us = clock_monotonic_us();
    buffer_init(&request->body, body_max);
    const char *method = http_parameter(request, "REQUEST_METHOD");
    const char *uri = http_parameter(request, "REQUEST_URI");
    const char *address = http_parameter(request, "REMOTE_ADDR");
    const char *peer = http_parameter(request, "SANDLOT_PEER");
    request->method = method ? method : "GET";
    request->remote_address = address ? address : "";
    request->peer_address = peer ? peer : request->remote_address;
    request->path = uri ? read_path(uri) : xstrdup("/");
    take_request_id(request);
}

void http_request_rewind(struct http_request *request)
{
    for (size_t i = 0; i < request->query_count; i++) {
        free(request->query[i].name);
        free(request->query[i].value);
    }
    for (size_t i = 0; i < request->capture_count; i++)
        free(request->captures[i]);
    json_decref(request->json);
    request->query_count = 0;
    request->capture_count = 0;
    request->json = NULL;
    request->must_wait = false;
}

void http_request_drop_body(struct http_request *request)
{
    json_decref(request->json);
    request->json = NULL;
    buffer_wipe(&request->body);
}

void http_request_deinit(struct http_request *request)
{
    if (request->pending)
        request->pending_free(request->pending);
    http_request_rewind(request);
    free((char *)request->path);
    buffer_wipe(&request->body);
    memset(request, 0, sizeof *request);
}

const char *http_parameter(const struct http_request *request, const char *name)
{
    size_t length = strlen(name);
    for (char **entry = request->parameters; entry && *entry; entry++)
        if (!strncmp(*entry, name, length) && (*entry)[length] == '=')
            return (*entry)[length + 1] ? *entry + length + 1 : NULL;
    return NULL;
}

const char *http_header(const struct http_request *request, const char *name)
{
    char parameter[5 + HEADER_NAME_MAX + 1] = "HTTP_";
    size_t length = strlen(name);
    if (length > HEADER_NAME_MAX)
        return NULL;
    /* CGI gives these two without the prefix. */
    if (!strcasecmp(name, "Content-Type"))
        return http_parameter(request, "CONTENT_TYPE");
    if (!strcasecmp(name, "Content-Length"))
        return http_parameter(request, "CONTENT_LENGTH");
    for (size_t i = 0; i < length; i++)
        parameter[5 + i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
    return http_parameter(request, parameter);
}

const char *http_query(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->query_count; i++)
        if (request->query[i].name_is_text && request->query[i].value_is_text &&
            !strcmp(request->query[i].name, name))
            return request->query[i].value;
    return NULL;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The decoded bytes with a zero byte behind, or NULL for a bad escape. */
static char *decode(const char *text, size_t size, bool plus_is_space, size_t *decoded_size)
{
    autofree char *decoded = xmalloc(size + 1);
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '%') {
            int high = size - i > 2 ? hex_value(text[i + 1]) : -1;
            int low = size - i > 2 ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return NULL;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        decoded[length++] = c;
    }
    decoded[length] = '\0';
    *decoded_size = length;
    return steal_pointer(&decoded);
}

static bool is_text(const char *bytes, size_t size)
{
    return !memchr(bytes, '\0', size) && str_is_utf8(bytes, size);
}

int http_percent_decode(const char *text, size_t size, bool plus_is_space, char **out)
{
    size_t length;
    autofree char *decoded = decode(text, size, plus_is_space, &length);
    if (!decoded || !is_text(decoded, length))
        return -1;
    *out = steal_pointer(&decoded);
    return 0;
}

/* name=value of size bytes at text. */
static int add_parameter(struct http_request *request, const char *text, size_t size,
                         struct error **err)
{
    const char *equals = memchr(text, '=', size);
    const char *end = text + size, *value = equals ? equals + 1 : end;
    size_t name_size = equals ? (size_t)(equals - text) : size;
    struct http_parameter parameter = {0};
    autofree char *raw = xstrndup(text, name_size < FIELD_NAME_MAX ? name_size : FIELD_NAME_MAX);
    if (request->query_count == HTTP_QUERY_MAX)
        return error_set_field(err, ERR_INVALID_REQUEST, raw,
                               "a request may carry at most %d query parameters", HTTP_QUERY_MAX);
    parameter.name = decode(text, name_size, true, &parameter.name_size);
    parameter.value = decode(value, (size_t)(end - value), true, &parameter.value_size);
    if (!parameter.name || !parameter.value) {
        free(parameter.name);
        free(parameter.value);
        return error_set_field(err, ERR_INVALID_REQUEST, raw,
                               "query parameter \"%s\" has wrong percent-encoding", raw);
    }
    parameter.name_is_text = is_text(parameter.name, parameter.name_size);
    parameter.value_is_text = is_text(parameter.value, parameter.value_size);
    request->query[request->query_count++] = parameter;
    return 0;
}

int http_request_parse_query(struct http_request *request, struct error **err)
{
    const char *query = http_parameter(request, "QUERY_STRING");
    if (!query)
        return 0;
    if (strlen(query) > HTTP_QUERY_BYTES_MAX)
        return error_set(err, ERR_INVALID_REQUEST, "the query is longer than %d bytes",
                         HTTP_QUERY_BYTES_MAX);
    while (*query) {
        size_t size = strcspn(query, "&");
        if (size && add_parameter(request, query, size, err) < 0)
            return -1;
        query += size + (query[size] == '&');
    }
    return 0;
}

const char *http_query_bytes(const struct http_request *request, const char *name, size_t *size)
{
    for (size_t i = 0; i < request->query_count; i++) {
        if (!request->query[i].name_is_text || strcmp(request->query[i].name, name) != 0)
            continue;
        *size = request->query[i].value_size;
        return request->query[i].value;
    }
    return NULL;
}

int64_t http_content_length(const struct http_request *request)
{
    uint64_t length;
    const char *text = http_parameter(request, "HTTP_CONTENT_LENGTH");
    return text && str_parse_u64(text, 0, INT64_MAX, &length) == 0 ? (int64_t)length : -1;
}

bool http_content_is(const struct http_request *request, const char *media_type)
{
    return media_type_is(http_header(request, "Content-Type"), media_type);
}

int http_body_too_slow(struct error **err)
{
    return error_set(
        err, ERR_BODY_TOO_SLOW,
        "The client sent the request body too slowly, and the server closes the connection.");
}
