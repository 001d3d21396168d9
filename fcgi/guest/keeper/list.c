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

/* Most bytes of the names and targets of one answer. As JSON they can be six times as long. All
 * volumes of a host share the memory of this process. */
#define BYTES_MAX (1024 * 1024)

/* Most entries of a tree in one answer. */
#define TREE_DEPTH_MAX   64
#define TREE_ENTRIES_MAX 5000

/* Our own, between two steps of a change or after one: not for clients. */
static bool is_hidden(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..") || str_starts_with(name, KEEPER_NAME_NEW) ||
           str_starts_with(name, KEEPER_NAME_REMOVED);
}

/* shown: as it is called in the list. *bytes grows by its name and its target. NULL: it is gone
 * meanwhile. */
static json_t *new_entry(int directory, const char *name, const char *shown, struct stat *status,
                         size_t *bytes)
{
    if (fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW) < 0)
        return NULL;
    json_t *entry = entry_json(status);
    entry_set_name(entry, "name", shown);
    *bytes += strlen(shown) + entry_set_target(entry, directory, name, status);
    return entry;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(json_string_value(json_object_get(*(json_t *const *)a, "name")),
                  json_string_value(json_object_get(*(json_t *const *)b, "name")));
}

/* Read up to limit entries from the present position of the directory, and fewer if they are long.
 * *next: the position after them, 0 at the end. Positions are those of the file system, and stay
 * valid while entries are created and deleted. So the pages of a large directory never need the
 * whole list in memory. */
static json_t *read_page(DIR *directory, size_t limit, uint64_t *next)
{
    autofree json_t **entries = xcalloc(limit, sizeof *entries);
    json_t *page = json_array();
    size_t count = 0, bytes = 0;
    struct dirent *one;
    struct stat status;
    *next = 0;
    while ((one = readdir(directory))) {
        if (is_hidden(one->d_name))
            continue;
        if (count == limit || bytes >= BYTES_MAX)
            break;
        json_t *entry = new_entry(dirfd(directory), one->d_name, one->d_name, &status, &bytes);
        if (entry)
            entries[count++] = entry;
        *next = (uint64_t)one->d_off;
    }
    if (!one)
        *next = 0;
    qsort(entries, count, sizeof *entries, by_name);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(page, entries[i]);
    return page;
}

static DIR *open_listed(int volume, const char *path, struct keeper_error *error)
{
    int fd = place_open_directory(volume, path, error);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory && fd >= 0) {
        keeper_error_set_errno(error, errno);
        close(fd);
    }
    return directory;
}

int directory_get(struct request *request, struct keeper_error *error)
{
    uint64_t after = 0, limit = LIMIT_MAX, next;
    const char *path;
    if (request_path(request, "path", &path, error) < 0 ||
        request_number(request, "after", &after, error) < 0 ||
        request_number(request, "limit", &limit, error) < 0)
        return -1;
    if (limit < 1 || limit > LIMIT_MAX)
        return keeper_error_set(error, KEEPER_INVALID, "limit is out of range.");
    DIR *directory = open_listed(request->volume, path, error);
    if (!directory)
        return -1;
    if (after)
        seekdir(directory, (long)after);
    json_t *body = json_pack("{s:o}", "entries", read_page(directory, (size_t)limit, &next));
    if (next)
        json_object_set_new(body, "next", json_integer((json_int_t)next));
    closedir(directory);
    return httpd_reply_json(&request->http, 200, body);
}

/* --- a tree --- */

/* Level by level, each directory opened when its turn comes: depth costs no descriptors. */
struct tree {
    int volume;
    const char *top;
    json_t *entries;
    char **levels; /* directories below the top that wait, with "" for the top itself */
    size_t first, last;
    size_t bytes;
};

static void tree_free(struct tree *tree)
{
    for (size_t i = tree->first; i < tree->last; i++)
        free(tree->levels[i]);
    free(tree->levels);
    json_decref(tree->entries);
}

static int append_below(struct tree *tree, int directory, const char *below, const char *name,
                        struct keeper_error *error)
{
    struct stat status;
    autofree char *shown = *below ? xasprintf("%s/%s", below, name) : xstrdup(name);
    json_auto_t *entry = new_entry(directory, name, shown, &status, &tree->bytes);
    if (!entry)
        return 0;
    if (json_array_size(tree->entries) == TREE_ENTRIES_MAX || tree->bytes > BYTES_MAX)
        return keeper_error_set(error, KEEPER_INVALID,
                                "The list is too long for one answer; list fewer levels.");
    json_array_append(tree->entries, entry);
    if (S_ISDIR(status.st_mode))
        tree->levels[tree->last++] = steal_pointer(&shown);
    return 0;
}

/* Take the next directory. One that is gone meanwhile has nothing in it. */
static int take_directory(struct tree *tree, struct keeper_error *error)
{
    autofree char *below = tree->levels[tree->first++];
    autofree char *path = xasprintf("%s%s%s", tree->top, *tree->top && *below ? "/" : "", below);
    struct dirent *one;
    int result = 0;
    DIR *directory = open_listed(tree->volume, path, error);
    if (!directory)
        return *below && error->code == KEEPER_NOT_FOUND ? 0 : -1;
    while (result == 0 && (one = readdir(directory)))
        if (!is_hidden(one->d_name))
            result = append_below(tree, dirfd(directory), below, one->d_name, error);
    closedir(directory);
    return result;
}

static int walk(struct tree *tree, uint64_t depth, struct keeper_error *error)
{
    tree->levels = xcalloc(TREE_ENTRIES_MAX + 1, sizeof *tree->levels);
    tree->levels[tree->last++] = xstrdup("");
    for (; depth && tree->first < tree->last; depth--)
        for (size_t end = tree->last; tree->first < end;)
            if (take_directory(tree, error) < 0)
                return -1;
    return 0;
}

int tree_get(struct request *request, struct keeper_error *error)
{
    struct tree tree = {.volume = request->volume, .entries = json_array()};
    uint64_t depth = 0;
    int result = request_path(request, "path", &tree.top, error);
    if (result == 0)
        result = request_number(request, "depth", &depth, error);
    if (result == 0 && (depth < 1 || depth > TREE_DEPTH_MAX))
        result = keeper_error_set(error, KEEPER_INVALID, "The depth is out of range.");
    if (result == 0)
        result = walk(&tree, depth, error);
    if (result == 0)
        result = httpd_reply_json(&request->http, 200, json_pack("{s:O}", "entries", tree.entries));
    tree_free(&tree);
    return result;
}
