/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "keeper/entry.h"
#include "keeper/handlers.h"
#include "keeper/place.h"

#define LIMIT_MAX 1000

/* Ours, between two steps of a change or after one: nobody's business. */
static bool is_hidden(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..") || str_starts_with(name, PLACE_NEW) ||
           str_starts_with(name, PLACE_REMOVED);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* Up to limit names from where the directory stands. *next: the position behind them, 0 at the end.
 * Positions are the file system's own and stay true while entries come and go, so that a directory
 * of any size is read in pages without ever being held as a whole. */
static char **read_names(DIR *directory, size_t limit, size_t *count, uint64_t *next)
{
    char **names = xcalloc(limit, sizeof *names);
    struct dirent *one;
    *count = 0;
    *next = 0;
    while ((one = readdir(directory))) {
        if (is_hidden(one->d_name))
            continue;
        if (*count == limit)
            return names;
        names[(*count)++] = xstrdup(one->d_name);
        *next = (uint64_t)one->d_off;
    }
    *next = 0;
    return names;
}

static json_t *entries_of(int directory, char **names, size_t count)
{
    json_t *entries = json_array();
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        /* Gone meanwhile. */
        if (fstatat(directory, names[i], &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        json_t *entry = entry_json(&status);
        entry_set_name(entry, "name", names[i]);
        entry_set_target(entry, directory, names[i], &status);
        json_array_append_new(entries, entry);
    }
    return entries;
}

int directory_get(struct request *request, struct keeper_error *error)
{
    uint64_t after = 0, limit = LIMIT_MAX, next;
    const char *path;
    size_t count;
    if (request_path(request, "path", &path, error) < 0 ||
        request_number(request, "after", &after, error) < 0 ||
        request_number(request, "limit", &limit, error) < 0)
        return -1;
    if (limit < 1 || limit > LIMIT_MAX)
        return keeper_error_set(error, KEEPER_INVALID, "limit is out of range.");
    int fd = place_open_directory(request->volume, path, error);
    if (fd < 0)
        return -1;
    DIR *directory = fdopendir(fd);
    if (!directory) {
        int errnum = errno;
        close(fd);
        return keeper_error_set_errno(error, errnum);
    }
    if (after)
        seekdir(directory, (long)after);
    char **names = read_names(directory, (size_t)limit, &count, &next);
    qsort(names, count, sizeof *names, by_name);
    json_t *body = json_pack("{s:o}", "entries", entries_of(dirfd(directory), names, count));
    if (next)
        json_object_set_new(body, "next", json_integer((json_int_t)next));
    free_names(names, count);
    closedir(directory);
    return httpd_reply_json(&request->http, 200, body);
}
