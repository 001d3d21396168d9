/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Volumes and their files: the calls of /v1, with their answers in E2B's form. */
#include <stdlib.h>
#include <string.h>

#include "account/volume_token.h"
#include "api/e2b/e2b.h"
#include "api/volume_path.h"
#include "api/volumes.h"
#include "base/mem.h"
#include "base/str.h"
#include "volume/volume.h"

#define PAGE_MAX      200
#define LIST_CALLS    16 /* pages of 1000 entries each */
#define MODE_MAX      07777
#define DIRECTORY_MAX (LIST_CALLS * 1000)

/* --- volumes --- */

static json_t *listed_to_json(const struct volume *volume)
{
    return json_pack("{s:s, s:s}", "volumeID", volume->id, "name", volume->name);
}

/* Return a volume, with a token if the request used a key. The token has the rights of the key, and
 * ends with it. E2B's clients cannot read a volume without a token. */
static int volume_to_json(struct api *api, const struct volume *volume, json_t **json,
                          struct error **err)
{
    char token[VOLUME_TOKEN_SIZE];
    *json = listed_to_json(volume);
    json_object_set_new(*json, "domain", json_string(api->settings->data_plane_host));
    if (!*api->principal.key_lookup)
        return 0;
    if (volume_token_make(api->worker.ring, &api->principal, volume->id, token, err) < 0) {
        json_decref(*json);
        return -1;
    }
    json_object_set_new(*json, "token", json_string(token));
    mem_wipe(token, sizeof token);
    return 0;
}

static int answer_volume(struct api *api, int status, struct http_response *response,
                         struct error **err)
{
    json_t *json;
    if (volume_to_json(api, &api->access.volume, &json, err) < 0)
        return -1;
    json_decref(response->json);
    response->json = NULL;
    return http_response_json(response, status, json);
}

int e2b_volumes_create(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    json_t *given = json_object_get(request->json, "name");
    autofree char *name = xstrdup(json_string_value(given));
    e2b_lower(name);
    json_string_set(given, name);
    if (volume_check_name(given, "/name", err) < 0)
        return -1;
    if (volumes_create(context, request, response, err) < 0)
        return (*err)->code == ERR_NAME_TAKEN ? error_recode(err, ERR_INVALID_REQUEST) : -1;
    return answer_volume(context, 201, response, err);
}

int e2b_volumes_show(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    (void)request;
    return answer_volume(context, 200, response, err);
}

static int append_page(struct db *db, const char *team_id, char before[ID_SIZE], json_t *list,
                       unsigned *count, struct error **err)
{
    struct volume *volumes;
    int result = volume_list(db, team_id, *before ? before : NULL, PAGE_MAX, &volumes, count, err);
    for (unsigned i = 0; i < *count; i++) {
        if (volumes[i].state == VOLUME_READY)
            json_array_append_new(list, listed_to_json(&volumes[i]));
        memcpy(before, volumes[i].id, ID_SIZE);
        volume_deinit(&volumes[i]);
    }
    free(volumes);
    return result;
}

/* List all volumes without pages; the plan limits their number. */
int e2b_volumes_list(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    json_auto_t *list = json_array();
    char before[ID_SIZE] = "";
    unsigned count = PAGE_MAX;
    (void)request;
    while (count == PAGE_MAX)
        if (append_page(api->worker.db, api->access.team->id, before, list, &count, err) < 0)
            return -1;
    return http_response_json(response, 200, json_incref(list));
}

/* --- files of volumes --- */

static const char *type_of(const char *type)
{
    return str_equal(type, "file") || str_equal(type, "directory") || str_equal(type, "symlink")
               ? type
               : "unknown";
}

static json_t *stat_to_json(const char *path, const json_t *entry)
{
    const char *slash = strrchr(path, '/');
    const char *mode = json_string_value(json_object_get(entry, "mode"));
    const char *type = json_string_value(json_object_get(entry, "type"));
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:O, s:I, s:O, s:O, s:O, s:O, s:O}", "name", slash ? slash + 1 : path,
        "path", path, "type", type_of(type), "size", json_object_get(entry, "size"), "mode",
        (json_int_t)strtoul(mode ? mode : "0", NULL, 8), "uid", json_object_get(entry, "uid"),
        "gid", json_object_get(entry, "gid"), "atime", json_object_get(entry, "accessed_at"),
        "mtime", json_object_get(entry, "modified_at"), "ctime",
        json_object_get(entry, "changed_at"));
    json_t *target = json_object_get(entry, "target");
    if (target)
        json_object_set(json, "target", target);
    return json;
}

static void replace_value(struct http_request *request, const char *name, const char *value)
{
    for (size_t i = 0; i < request->query_count; i++) {
        struct http_parameter *parameter = &request->query[i];
        if (!str_equal(parameter->name, name))
            continue;
        free(parameter->value);
        parameter->value = xstrdup(value);
        parameter->value_size = strlen(value);
    }
}

/* Make the path of the query absolute, and resolve its empty, . and .. parts, as E2B does. /v1
 * refuses such paths. */
static void clean_path(struct http_request *request)
{
    size_t size;
    const char *given = http_query_bytes(request, "path", &size);
    if (!given || strlen(given) != size)
        return;
    autofree char *copy = xstrdup(given), *clean = xmalloc(size + 2);
    char *rest = copy, *end = clean;
    for (char *part; (part = strsep(&rest, "/"));) {
        if (str_equal(part, ".."))
            while (end > clean && *--end != '/')
                ;
        else if (*part && !str_equal(part, ".")) {
            size_t length = strlen(part);
            *end++ = '/';
            memcpy(end, part, length);
            end += length;
        }
    }
    if (end == clean)
        *end++ = '/';
    *end = '\0';
    replace_value(request, "path", clean);
}

/* Translate the answer of a /v1 call. */
static int answer_stat(const struct http_request *request, struct http_response *response,
                       int result)
{
    if (result < 0)
        return -1;
    json_t *entry = response->json;
    response->json = stat_to_json(http_query(request, "path"), entry);
    json_decref(entry);
    return 0;
}

/* Read the mode: a number in E2B's API, octal digits in /v1. mode: "" without the parameter. */
static int read_mode(const struct http_request *request, char mode[8], struct error **err)
{
    const char *text = http_query(request, "mode");
    uint64_t number;
    mode[0] = '\0';
    if (!text)
        return 0;
    if (str_parse_u64(text, 0, MODE_MAX, &number) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "mode",
                               "mode must be a decimal number up to 4095.");
    snprintf(mode, 8, "%04o", (unsigned)number);
    return 0;
}

/* Make the body for /v1: the attributes, and the path from the query. */
static int set_body(struct http_request *request, json_t *attributes, struct error **err)
{
    const char *path;
    if (volume_path_query(request, &path, err) < 0)
        return -1;
    json_t *path_json = json_string(path);
    if (!path_json)
        return error_set_field(err, ERR_INVALID_REQUEST, "path", "The path is not UTF-8.");
    json_object_set_new(attributes, "path", path_json);
    json_incref(attributes);
    json_decref(request->json);
    request->json = attributes;
    return 0;
}

/* Without force, E2B's clients expect an error if something has the path already. */
static int read_force(struct http_request *request, struct error **err)
{
    const char *force = http_query(request, "force");
    return force && str_equal(force, "true")
               ? 0
               : e2b_add_parameter(request, xstrdup("new"), xstrdup("true"), err);
}

/* E2B's clients know no other status for a file or directory. */
static int answer_made(const struct http_request *request, struct http_response *response,
                       int result)
{
    if (answer_stat(request, response, result) < 0)
        return -1;
    response->status = 201;
    return 0;
}

int e2b_volume_files_pass(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    clean_path(request);
    return volume_files_pass(context, request, response, err);
}

int e2b_volume_files_put(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    char mode[8];
    clean_path(request);
    if (read_mode(request, mode, err) < 0 || read_force(request, err) < 0)
        return -1;
    if (!request->read_body)
        return error_set(err, ERR_UNSUPPORTED_MEDIA_TYPE,
                         "Send the content of a file as application/octet-stream.");
    replace_value(request, "mode", mode);
    return answer_made(request, response, volume_files_put(context, request, response, err));
}

int e2b_volume_directories_put(void *context, struct http_request *request,
                               struct http_response *response, struct error **err)
{
    json_auto_t *attributes = NULL;
    char mode[8];
    clean_path(request);
    if (read_mode(request, mode, err) < 0 || read_force(request, err) < 0)
        return -1;
    replace_value(request, "mode", mode);
    if (volume_attributes_query(request, &attributes, err) < 0 ||
        set_body(request, attributes, err) < 0)
        return -1;
    return answer_made(request, response, volume_directories_put(context, request, response, err));
}

int e2b_volume_paths_update(void *context, struct http_request *request,
                            struct http_response *response, struct error **err)
{
    json_auto_t *attributes = json_incref(request->json);
    const json_t *mode = json_object_get(attributes, "mode");
    autofree char *octal = xasprintf("%04o", (unsigned)json_integer_value(mode));
    clean_path(request);
    if (mode)
        json_object_set_new(attributes, "mode", json_string(octal));
    if (set_body(request, attributes, err) < 0)
        return -1;
    return answer_stat(request, response, volume_paths_update(context, request, response, err));
}

int e2b_volume_paths_show(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    clean_path(request);
    return answer_stat(request, response, volume_paths_show(context, request, response, err));
}

/* Delete a path with all of its content. */
int e2b_volume_paths_delete(void *context, struct http_request *request,
                            struct http_response *response, struct error **err)
{
    clean_path(request);
    return e2b_add_parameter(request, xstrdup("recursive"), xstrdup("true"), err) < 0
               ? -1
               : volume_paths_delete(context, request, response, err);
}

static void append_entries(const char *path, const json_t *entries, json_t *list)
{
    size_t index;
    json_t *entry;
    json_array_foreach ((json_t *)(uintptr_t)entries, index, entry) {
        const char *name = json_string_value(json_object_get(entry, "name"));
        autofree char *whole = xasprintf("%s%s%s", path, str_ends_with(path, "/") ? "" : "/", name);
        json_array_append_new(list, stat_to_json(whole, entry));
    }
}

/* List a directory without pages. The call of /v1 has pages for one level. */
int e2b_volume_directories_list(void *context, struct http_request *request,
                                struct http_response *response, struct error **err)
{
    const char *path;
    json_auto_t *list = json_array();
    clean_path(request);
    if (volume_path_query(request, &path, err) < 0)
        return -1;
    for (unsigned calls = 0; calls < LIST_CALLS; calls++) {
        if (volume_directories_list(context, request, response, err) < 0)
            return -1;
        json_auto_t *page = response->json;
        const char *next = json_string_value(json_object_get(page, "next_token"));
        response->json = NULL;
        append_entries(path, json_object_get(page, "entries"), list);
        if (!next)
            return http_response_json(response, 200, json_incref(list));
        if (calls)
            replace_value(request, "next_token", next);
        else if (e2b_add_parameter(request, xstrdup("next_token"), xstrdup(next), err) < 0)
            return -1;
    }
    return error_set_field(
        err, ERR_INVALID_REQUEST, "path",
        "The directory has more than %d entries, or long ones; list it in pages with "
        "/v1/volumes.",
        DIRECTORY_MAX);
}
