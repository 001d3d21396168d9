/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of volumes: as JSON up to a size, or as octets of any size, which are streamed. */
#include <string.h>

#include "api/access.h"
#include "api/content.h"
#include "api/volume_path.h"
#include "base/log.h"
#include "base/media_type.h"
#include "base/mem.h"
#include "crypto/mac.h"

/* The base64 of so many bytes and a path fit into VOLUME_FILE_BODY_MAX. */
#define CONTENT_MAX ((size_t)8 << 20)

const struct schema_member volume_file_schema[] = {
    {.name = "path", .type = SCHEMA_STRING, .required = true, .check = volume_path_member_check},
    {.name = "content_b64", .type = SCHEMA_STRING, .required = true},
    VOLUME_ATTRIBUTES,
    {.name = NULL},
};

/* --- writing --- */

/* The streamed bytes of the client, which must match its Content-Length. */
struct passage {
    struct access_watch watch;
    int64_t left; /* -1: without Content-Length */
};

static long read_passage(void *context, char *data, size_t size)
{
    struct passage *passage = context;
    const struct http_request *request = passage->watch.request;
    long got = request->read_body(request->body_context, data, size);
    if (got > 0 && passage->left >= 0)
        passage->left -= got;
    return (got == 0 && passage->left > 0) || !access_lasts(&passage->watch) ? -1 : got;
}

static int put(struct api *api, struct http_response *response, const char *path,
               const json_t *attributes, const char *field, struct keeper_upload *upload,
               struct error **err)
{
    buffer_auto query = BUFFER_INIT(VOLUME_QUERY_MAX);
    json_t *entry;
    int status;
    volume_query_add(&query, "path", path);
    volume_query_add_attributes(&query, attributes);
    struct volume_files_call call = {
        .method = "PUT",
        .resource = "file",
        .query = buffer_string(&query),
        .field = field,
        .changes = true,
        .upload = upload,
    };
    if (volume_files_ask(api, &call, &entry, &status, err) < 0)
        return -1;
    return http_response_json(response, status, volume_entry_to_json(path, entry));
}

static int put_octets(struct api *api, const struct http_request *request,
                      struct http_response *response, struct error **err)
{
    struct passage passage = {{.api = api, .request = request, .writes = true},
                              http_content_length(request)};
    struct keeper_upload upload = {read_passage, &passage, passage.left};
    json_auto_t *attributes = NULL;
    const char *path;
    if (volume_path_query(request, &path, err) < 0 ||
        volume_attributes_query(request, &attributes, err) < 0)
        return -1;
    int result = put(api, response, path, attributes, "path", &upload, err);
    error_auto ended = passage.watch.ended;
    if (result == 0)
        return 0;
    if (ended) {
        error_clear(err);
        return error_move(err, &ended);
    }
    if (!request->body_too_slow)
        return -1;
    error_clear(err);
    return http_body_too_slow(err);
}

static int put_json(struct api *api, const struct http_request *request,
                    struct http_response *response, struct error **err)
{
    struct content content;
    if (request->query_count)
        return error_set_field(err, ERR_INVALID_REQUEST, request->query[0].name,
                               "Send path, mode, uid and gid in the JSON body, or in the query "
                               "next to a body of application/octet-stream.");
    int result = content_decode(request, &content, err);
    autofree char *data = content.data;
    if (result < 0)
        return -1;
    struct keeper_upload upload = {content_read, &content, (int64_t)content.size};
    return put(api, response, json_string_value(json_object_get(request->json, "path")),
               request->json, "/path", &upload, err);
}

int volume_files_put(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    if (http_header(request, "Content-Range"))
        return error_set_field(err, ERR_INVALID_REQUEST, "Content-Range",
                               "A file of a volume is written as a whole; send all of its bytes "
                               "in one request.");
    return request->read_body ? put_octets(context, request, response, err)
                              : put_json(context, request, response, err);
}

/* --- reading --- */

struct reading {
    struct api *api;
    const struct http_request *request;
    struct http_response *response;
    struct access_watch watch;
    bool too_large;
    char mode[8], modified_at[32];
    struct buffer content;
};

static int begin_octets(void *context, uint64_t size, const char *mode, const char *modified_at)
{
    struct reading *reading = context;
    struct http_response *response = reading->response;
    http_response_header(response, "X-Mode", "%.7s", mode);
    http_response_header(response, "X-Modified-At", "%.31s", modified_at);
    if (http_query(reading->request, "download"))
        http_response_header(response, "Content-Disposition", "attachment");
    if (http_response_begin(response, reading->request, "application/octet-stream", size) < 0)
        return -1;
    return strcmp(reading->request->method, "HEAD") ? 0 : -1;
}

static int pass_octets(void *context, const char *data, size_t size)
{
    struct reading *reading = context;
    return access_lasts(&reading->watch)
               ? http_response_send(reading->response, reading->request, data, size)
               : -1;
}

static int begin_json(void *context, uint64_t size, const char *mode, const char *modified_at)
{
    struct reading *reading = context;
    snprintf(reading->mode, sizeof reading->mode, "%s", mode);
    snprintf(reading->modified_at, sizeof reading->modified_at, "%s", modified_at);
    reading->too_large = size > CONTENT_MAX;
    return reading->too_large ? -1 : 0;
}

static int keep_bytes(void *context, const char *data, size_t size)
{
    struct reading *reading = context;
    return buffer_append(&reading->content, data, size);
}

static int read_file(struct reading *reading, const char *path, bool octets, struct error **err)
{
    buffer_auto query = BUFFER_INIT(VOLUME_QUERY_MAX);
    json_auto_t *nothing = NULL;
    int status;
    struct keeper_download download = {
        .begin = octets ? begin_octets : begin_json,
        .data = octets ? pass_octets : keep_bytes,
        .context = reading,
    };
    volume_query_add(&query, "path", path);
    struct volume_files_call call = {
        .method = "GET",
        .resource = "file",
        .query = buffer_string(&query),
        .field = "path",
        .download = &download,
    };
    return volume_files_ask(reading->api, &call, &nothing, &status, err);
}

static int get_octets(struct reading *reading, const char *path, struct error **err)
{
    error_auto failure = NULL;
    reading->watch = (struct access_watch){.api = reading->api, .request = reading->request};
    int result = read_file(reading, path, true, &failure);
    error_auto ended = reading->watch.ended;
    if (result < 0 && !reading->response->begun)
        return error_move(err, &failure);
    /* The head has been sent: the client can only notice that the body is too short. */
    if (failure && strcmp(reading->request->method, "HEAD"))
        log_warning("cannot send the rest of a volume's file; the client's download ends early",
                    LOG_STR("volume", reading->api->access.volume.id),
                    LOG_ERROR(ended ? ended : failure));
    return 0;
}

static int get_json(struct reading *reading, const char *path, struct error **err)
{
    error_auto failure = NULL;
    int result = read_file(reading, path, false, &failure);
    if (reading->too_large)
        return error_set_field(
            err, ERR_BODY_TOO_LARGE, "path",
            "The file is larger than %zu MiB; download it with Accept: application/octet-stream.",
            CONTENT_MAX >> 20);
    if (result < 0)
        return error_move(err, &failure);
    autofree char *base64 = xmalloc(BASE64_PADDED_SIZE(reading->content.size));
    base64_encode(reading->content.size ? reading->content.data : "", reading->content.size,
                  base64);
    json_t *body =
        json_pack("{s:I, s:s, s:s, s:s}", "size", (json_int_t)reading->content.size, "mode",
                  reading->mode, "modified_at", reading->modified_at, "content_b64", base64);
    return http_response_json(reading->response, 200, volume_entry_to_json(path, body));
}

int volume_files_pass(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    struct reading reading = {.api = context, .request = request, .response = response};
    const char *path;
    return volume_path_query(request, &path, err) < 0 ? -1 : get_octets(&reading, path, err);
}

int volume_files_get(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct reading reading = {.api = context, .request = request, .response = response};
    const char *path, *accept = http_header(request, "Accept");
    if (volume_path_query(request, &path, err) < 0)
        return -1;
    int octets = media_type_quality(accept, "application/octet-stream");
    if (http_query(request, "download") ||
        (octets && octets >= media_type_quality(accept, "application/json")))
        return get_octets(&reading, path, err);
    buffer_init(&reading.content, CONTENT_MAX);
    int result = get_json(&reading, path, err);
    buffer_deinit(&reading.content);
    return result;
}
