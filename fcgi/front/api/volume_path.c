/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/volume_path.h"

#include <ctype.h>
#include <string.h>

#include "base/instance.h"
#include "base/json_read.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define COMPONENT_MAX 255

static int refuse(const char *field, const char *why, struct error **err)
{
    return error_set_field(err, ERR_INVALID_REQUEST, field, "%s", why);
}

int volume_path_check(const char *path, size_t size, const char *field, struct error **err)
{
    if (!size || path[0] != '/')
        return refuse(field, "A path in a volume must begin with a slash.", err);
    if (size > VOLUME_PATH_MAX)
        return refuse(field, "A path has at most 4095 bytes.", err);
    if (strlen(path) != size)
        return refuse(field, "A path cannot have a NUL character.", err);
    const char *top = path + strspn(path, "/");
    if (str_starts_with(top, KEEPER_NAME_NEW) || str_starts_with(top, KEEPER_NAME_REMOVED))
        return refuse(field,
                      "Names that begin with " KEEPER_NAME_NEW " or " KEEPER_NAME_REMOVED
                      " are sandlot's own in the top directory of a volume.",
                      err);
    for (const char *at = path; *at;) {
        at += strspn(at, "/");
        size_t length = strcspn(at, "/");
        if ((length == 1 && at[0] == '.') || (length == 2 && !strncmp(at, "..", 2)))
            return refuse(field, "A path in a volume cannot have . or .. as a part.", err);
        if (length > COMPONENT_MAX)
            return refuse(field, "A name in a path has at most 255 bytes.", err);
        at += length;
    }
    return 0;
}

int volume_path_member_check(const json_t *value, const char *pointer, struct error **err)
{
    return volume_path_check(json_string_value(value), json_string_length(value), pointer, err);
}

int volume_mode_member_check(const json_t *value, const char *pointer, struct error **err)
{
    const char *text = json_string_value(value);
    size_t length = strlen(text);
    if ((length == 3 || length == 4) && strspn(text, "01234567") == length)
        return 0;
    return refuse(pointer, "A mode must be three or four octal digits, such as \"0644\".", err);
}

static int read_owner(const struct http_request *request, const char *name, json_t *attributes,
                      struct error **err)
{
    const char *text = http_query(request, name);
    uint64_t number;
    if (!text)
        return 0;
    if (str_parse_u64(text, 0, VOLUME_OWNER_MAX, &number) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, name, "%s must be a number from 0 to %d.",
                               name, VOLUME_OWNER_MAX);
    json_object_set_new(attributes, name, json_integer((json_int_t)number));
    return 0;
}

int volume_attributes_query(const struct http_request *request, json_t **attributes,
                            struct error **err)
{
    const char *mode = http_query(request, "mode");
    json_auto_t *made = json_object();
    json_auto_t *mode_json = mode ? json_string(mode) : NULL;
    if ((mode && volume_mode_member_check(mode_json, "mode", err) < 0) ||
        read_owner(request, "uid", made, err) < 0 || read_owner(request, "gid", made, err) < 0)
        return -1;
    if (mode)
        json_object_set(made, "mode", mode_json);
    if (http_query(request, "new"))
        json_object_set_new(made, "new", json_true());
    *attributes = json_incref(made);
    return 0;
}

void volume_query_add_attributes(struct buffer *query, const json_t *attributes)
{
    static const char *const owners[] = {"uid", "gid"};
    const char *mode = json_string_value(json_object_get(attributes, "mode"));
    if (mode)
        volume_query_add(query, "mode", mode);
    if (json_object_get(attributes, "new"))
        volume_query_add(query, "new", "1");
    for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
        const json_t *owner = json_object_get(attributes, owners[i]);
        if (owner)
            buffer_printf(query, "%s=%lld&", owners[i], (long long)json_integer_value(owner));
    }
}

int volume_path_query(const struct http_request *request, const char **path, struct error **err)
{
    size_t size;
    *path = http_query_bytes(request, "path", &size);
    if (!*path)
        return refuse("path", "The query parameter path is missing.", err);
    return volume_path_check(*path, size, "path", err);
}

void volume_query_add(struct buffer *query, const char *name, const char *value)
{
    buffer_printf(query, "%s=", name);
    for (const char *c = value; *c; c++) {
        if (isalnum((unsigned char)*c) || strchr("-._~/", *c))
            buffer_append_char(query, *c);
        else
            buffer_printf(query, "%%%02X", (unsigned char)*c);
    }
    buffer_append_char(query, '&');
}

int volume_files_ask(struct api *api, const struct volume_files_call *call, json_t **json,
                     int *status, struct error **err)
{
    struct volume *volume = &api->access.volume;
    keeper_answer_auto answer = {0};
    *json = NULL;
    log_context_set("volume", volume->id);
    if (volume_files_call(&api->worker, volume, call, &answer, err) < 0)
        return -1;
    *status = answer.status;
    if (!answer.text.size)
        return 0;
    *json = json_read(answer.text.data, answer.text.size, 0, NULL);
    return *json ? 0 : error_set(err, ERR_INTERNAL, "the answer of the volume server is not JSON");
}

json_t *volume_entry_to_json(const char *path, json_t *entry)
{
    if (str_is_utf8(path, strlen(path)))
        json_object_set_new(entry, "path", json_string(path));
    return entry;
}
