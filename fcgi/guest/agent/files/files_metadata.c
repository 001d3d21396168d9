/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "agent/files/files.h"
#include "base/mem.h"
#include "base/str.h"

#define HEADER_PREFIX    "X-Metadata-"
#define ATTRIBUTE_PREFIX "user.e2b."

#define KEY_MAX          200
#define VALUE_MAX        4096
#define COUNT_MAX        64
#define LIST_MAX         (64 * 1024) /* XATTR_LIST_MAX */

struct collector {
    json_t *metadata;
    struct rpc_error *error;
    bool failed;
};

static enum MHD_Result on_header(void *context, enum MHD_ValueKind kind, const char *name,
                                 size_t name_size, const char *value, size_t value_size)
{
    (void)kind;
    struct collector *collector = context;
    size_t prefix = strlen(HEADER_PREFIX);
    if (name_size < prefix || strncasecmp(name, HEADER_PREFIX, prefix) != 0)
        return MHD_YES;
    char key[KEY_MAX + 1];
    size_t length = name_size - prefix;
    collector->failed = !length || length > KEY_MAX || value_size > VALUE_MAX ||
                        json_object_size(collector->metadata) >= COUNT_MAX ||
                        !str_is_utf8(value, value_size) || strlen(value) != value_size;
    if (collector->failed) {
        rpc_error_set(
            collector->error, RPC_INVALID_ARGUMENT,
            "metadata header '%s' has no key, is too long, is not text, or is one too many", name);
        return MHD_NO;
    }
    for (size_t i = 0; i < length; i++)
        key[i] = (char)tolower((unsigned char)name[prefix + i]);
    key[length] = '\0';
    collector->failed = json_object_get(collector->metadata, key);
    if (collector->failed) {
        rpc_error_set_field(collector->error, name, "the header %s may be given once only", name);
        return MHD_NO;
    }
    json_object_set_new(collector->metadata, key, json_stringn(value, value_size));
    return MHD_YES;
}

int files_metadata_from_headers(const struct request *request, json_t **metadata,
                                struct rpc_error *error)
{
    struct collector collector = {json_object(), error, false};
    MHD_get_connection_values_n(request->http.connection, MHD_HEADER_KIND, on_header, &collector);
    if (collector.failed) {
        json_decref(collector.metadata);
        return -1;
    }
    *metadata = collector.metadata;
    return 0;
}

static void remove_others(int fd, const json_t *metadata)
{
    autofree char *names = xmalloc(LIST_MAX);
    ssize_t size = flistxattr(fd, names, LIST_MAX);
    for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1) {
        const char *name = names + at;
        if (str_starts_with(name, ATTRIBUTE_PREFIX) &&
            !json_object_get(metadata, name + strlen(ATTRIBUTE_PREFIX)))
            fremovexattr(fd, name);
    }
}

int files_metadata_store(int fd, const json_t *metadata, struct rpc_error *error)
{
    const char *key;
    json_t *value;
    if (flistxattr(fd, NULL, 0) > 0)
        remove_others(fd, metadata);
    json_object_foreach ((json_t *)metadata, key, value) {
        autofree char *name = xasprintf(ATTRIBUTE_PREFIX "%s", key);
        if (fsetxattr(fd, name, json_string_value(value), json_string_length(value), 0) < 0)
            return rpc_error_set_errno(error, errno, "cannot store metadata '%s'", key);
    }
    return 0;
}

json_t *files_metadata_load(const char *path)
{
    static char names[LIST_MAX], value[VALUE_MAX];
    json_t *metadata = NULL;
    ssize_t size = listxattr(path, names, sizeof names);
    for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1) {
        const char *name = names + at;
        if (!str_starts_with(name, ATTRIBUTE_PREFIX))
            continue;
        ssize_t length = getxattr(path, name, value, sizeof value);
        json_t *text = length < 0 ? NULL : json_stringn(value, (size_t)length);
        if (!text)
            continue;
        if (!metadata)
            metadata = json_object();
        json_object_set_new(metadata, name + strlen(ATTRIBUTE_PREFIX), text);
    }
    return metadata;
}

const char *files_media_type(const char *name)
{
    static const struct {
        const char *suffix, *type;
    } types[] = {
        {".css", "text/css; charset=utf-8"},
        {".csv", "text/csv; charset=utf-8"},
        {".gif", "image/gif"},
        {".htm", "text/html; charset=utf-8"},
        {".html", "text/html; charset=utf-8"},
        {".jpeg", "image/jpeg"},
        {".jpg", "image/jpeg"},
        {".js", "text/javascript; charset=utf-8"},
        {".json", "application/json"},
        {".md", "text/markdown; charset=utf-8"},
        {".mp4", "video/mp4"},
        {".pdf", "application/pdf"},
        {".png", "image/png"},
        {".py", "text/x-python; charset=utf-8"},
        {".svg", "image/svg+xml"},
        {".txt", "text/plain; charset=utf-8"},
        {".wasm", "application/wasm"},
        {".webp", "image/webp"},
        {".xml", "text/xml; charset=utf-8"},
    };
    const char *suffix = strrchr(name, '.');
    for (size_t i = 0; suffix && i < ARRAY_SIZE(types); i++)
        if (!strcasecmp(suffix, types[i].suffix))
            return types[i].type;
    return "application/octet-stream";
}
