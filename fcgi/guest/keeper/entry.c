/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper/entry.h"

#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

static const char *type_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "directory";
    case S_IFLNK:
        return "symlink";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    default:
        return "device";
    }
}

static json_t *time_json(struct timespec at)
{
    char text[CLOCK_ISO8601_SIZE];
    return json_string(clock_format_iso8601(clock_of_timespec(&at), text));
}

json_t *entry_json(const struct stat *status)
{
    char mode[8];
    snprintf(mode, sizeof mode, "%04o", (unsigned)(status->st_mode & 07777));
    return json_pack("{s:s, s:I, s:s, s:I, s:I, s:o, s:o, s:o}", "type", type_of(status->st_mode),
                     "size", (json_int_t)(S_ISREG(status->st_mode) ? status->st_size : 0), "mode",
                     mode, "uid", (json_int_t)status->st_uid, "gid", (json_int_t)status->st_gid,
                     "accessed_at", time_json(status->st_atim), "modified_at",
                     time_json(status->st_mtim), "changed_at", time_json(status->st_ctim));
}

/* Each byte that is no part of a character becomes U+FFFD. */
static json_t *readable(const char *name, size_t length)
{
    buffer_auto text = BUFFER_INIT(3 * length + 1);
    for (size_t at = 0; at < length;) {
        size_t size = 1;
        while (size < 4 && at + size <= length && !str_is_utf8(name + at, size))
            size++;
        bool whole = size <= 4 && at + size <= length && str_is_utf8(name + at, size);
        if (whole)
            buffer_append(&text, name + at, size);
        else
            buffer_append_string(&text, "\xef\xbf\xbd");
        at += whole ? size : 1;
    }
    return json_stringn(buffer_string(&text), text.size);
}

void entry_set_name(json_t *entry, const char *key, const char *name)
{
    size_t length = strlen(name);
    if (str_is_utf8(name, length)) {
        json_object_set_new(entry, key, json_stringn(name, length));
        return;
    }
    size_t size = sodium_base64_ENCODED_LEN(length, sodium_base64_VARIANT_ORIGINAL);
    autofree char *base64 = xmalloc(size);
    autofree char *key_b64 = xasprintf("%s_b64", key);
    sodium_bin2base64(base64, size, (const unsigned char *)name, length,
                      sodium_base64_VARIANT_ORIGINAL);
    json_object_set_new(entry, key, readable(name, length));
    json_object_set_new(entry, key_b64, json_string(base64));
}

size_t entry_set_target(json_t *entry, int directory, const char *name, const struct stat *status)
{
    char target[PATH_MAX];
    if (!S_ISLNK(status->st_mode))
        return 0;
    ssize_t size = readlinkat(directory, name, target, sizeof target - 1);
    if (size < 0)
        return 0;
    target[size] = '\0';
    entry_set_name(entry, "target", target);
    return (size_t)size;
}
