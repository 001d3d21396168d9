/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Archives that the steps of template builds copy from. */
#include <string.h>

#include "api/template_builds.h"
#include "base/mem.h"
#include "crypto/mac.h"
#include "recipe/recipe_file.h"

const struct schema_member template_file_schema[] = {
    {.name = "content_b64", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 12 << 20},
    {.name = NULL}};

int template_files_take(struct api *api, const struct http_request *request,
                        struct recipe_file *file, struct error **err)
{
    const struct recipe_upload upload = {http_content_length(request), request->read_body,
                                         request->body_context};
    if (recipe_file_write(api->worker.db, file, &upload, err) == 0)
        return 0;
    if (!request->body_too_slow)
        return -1;
    error_clear(err);
    return http_body_too_slow(err);
}

/* --- in JSON, up to the size of a body --- */

struct memory {
    char *data;
    size_t size, at;
};

static long read_memory(void *context, char *data, size_t size)
{
    struct memory *memory = context;
    size_t piece = memory->size - memory->at < size ? memory->size - memory->at : size;
    memcpy(data, memory->data + memory->at, piece);
    memory->at += piece;
    return (long)piece;
}

static int take_json(struct api *api, const struct http_request *request, struct recipe_file *file,
                     struct error **err)
{
    const json_t *content = json_object_get(request->json, "content_b64");
    size_t length = json_string_length(content), room = length / 4 * 3 + 3;
    autofree char *data = xmalloc(room);
    struct memory memory = {.data = data};
    if (base64_decode(json_string_value(content), length, data, room, &memory.size) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "/content_b64",
                               "The content is not base64 with its padding and without blanks.");
    if (!memory.size)
        return error_set_field(err, ERR_INVALID_REQUEST, "/content_b64", "The archive is empty.");
    const struct recipe_upload upload = {(int64_t)memory.size, read_memory, &memory};
    return recipe_file_write(api->worker.db, file, &upload, err);
}

/* --- */

static int write_file(struct api *api, const struct http_request *request, const char *hash,
                      struct recipe_file *file, struct error **err)
{
    if (recipe_file_expect(api->worker.db, api->access.team->id, hash, file, err) < 0)
        return -1;
    return request->read_body ? template_files_take(api, request, file, err)
                              : take_json(api, request, file, err);
}

int template_files_put(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct recipe_file file;
    const char *hash = request->captures[0];
    if (!recipe_hash_is_valid(hash))
        return error_set_field(err, ERR_INVALID_REQUEST, "hash",
                               "This is no hash: %d to %d lower-case hexadecimal digits.",
                               RECIPE_HASH_MIN, RECIPE_HASH_MAX);
    if (write_file(context, request, hash, &file, err) < 0)
        return -1;
    return http_response_json(response, 201,
                              json_pack("{s:s, s:I}", "hash", hash, "size", (json_int_t)file.size));
}
