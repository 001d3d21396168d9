/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/volume_path.h"

#include <ctype.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"

#define COMPONENT_MAX 255

static int refuse(const char *field, const char *why, struct error **err)
{
    return error_set_field(err, ERR_INVALID_REQUEST, field, "%s", why);
}

int volume_path_check(const char *path, size_t size, const char *field, struct error **err)
{
    if (!size || path[0] != '/')
        return refuse(field, "A path in a volume is absolute: it begins with a slash.", err);
    if (size > VOLUME_PATH_MAX)
        return refuse(field, "A path has at most 4095 bytes.", err);
    if (strlen(path) != size)
        return refuse(field, "A path holds no NUL.", err);
    for (const char *at = path; *at;) {
        at += strspn(at, "/");
        size_t length = strcspn(at, "/");
        if ((length == 1 && at[0] == '.') || (length == 2 && !strncmp(at, "..", 2)))
            return refuse(field, "A path in a volume holds neither . nor .. as a name.", err);
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
    return refuse(pointer, "A mode is three or four octal digits, such as \"0644\".", err);
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
    *json = json_loadb(answer.text.data, answer.text.size, 0, NULL);
    return *json ? 0 : error_set(err, ERR_INTERNAL, "the keeper's answer is no JSON");
}

json_t *volume_entry_to_json(const char *path, json_t *entry)
{
    if (str_is_utf8(path, strlen(path)))
        json_object_set_new(entry, "path", json_string(path));
    return entry;
}
