/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Archives that the steps of template builds copy from. */
#include "api/content.h"
#include "api/template_builds.h"
#include "base/mem.h"
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

/* --- as JSON, up to the size limit of a body --- */

static int take_json(struct api *api, const struct http_request *request, struct recipe_file *file,
                     struct error **err)
{
    struct content content;
    int result = content_decode(request, &content, err);
    autofree char *data = content.data;
    if (result < 0)
        return -1;
    if (!content.size)
        return error_set_field(err, ERR_INVALID_REQUEST, "/content_b64", "The archive is empty.");
    const struct recipe_upload upload = {(int64_t)content.size, content_read, &content};
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
                               "A hash has %d to %d lower-case hexadecimal digits.",
                               RECIPE_HASH_MIN, RECIPE_HASH_MAX);
    if (write_file(context, request, hash, &file, err) < 0)
        return -1;
    return http_response_json(response, 201,
                              json_pack("{s:s, s:I}", "hash", hash, "size", (json_int_t)file.size));
}
