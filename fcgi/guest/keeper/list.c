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

/* Most entries of a tree in one answer. */
#define TREE_DEPTH_MAX   64
#define TREE_ENTRIES_MAX 5000
#define TREE_BYTES_MAX   (1024 * 1024) /* of its paths */

/* Our own, between two steps of a change or after one: not for clients. */
static bool is_hidden(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..") || str_starts_with(name, KEEPER_NAME_NEW) ||
           str_starts_with(name, KEEPER_NAME_REMOVED);
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

/* Read up to limit names from the present position of the directory. *next: the position after
 * them, 0 at the end. Positions are those of the file system, and stay valid while entries are
 * created and deleted. So the pages of a large directory never need the whole list in memory. */
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

/* shown: as it is called in the list. False: it is gone meanwhile. */
static bool append_entry(json_t *entries, int directory, const char *name, const char *shown,
                         struct stat *status)
{
    if (fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    json_t *entry = entry_json(status);
    entry_set_name(entry, "name", shown);
    entry_set_target(entry, directory, name, status);
    json_array_append_new(entries, entry);
    return true;
}

static json_t *entries_of(int directory, char **names, size_t count)
{
    json_t *entries = json_array();
    struct stat status;
    for (size_t i = 0; i < count; i++)
        append_entry(entries, directory, names[i], names[i], &status);
    return entries;
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
    size_t count;
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
    char **names = read_names(directory, (size_t)limit, &count, &next);
    qsort(names, count, sizeof *names, by_name);
    json_t *body = json_pack("{s:o}", "entries", entries_of(dirfd(directory), names, count));
    if (next)
        json_object_set_new(body, "next", json_integer((json_int_t)next));
    free_names(names, count);
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
    tree->bytes += strlen(shown);
    if (json_array_size(tree->entries) == TREE_ENTRIES_MAX || tree->bytes > TREE_BYTES_MAX)
        return keeper_error_set(error, KEEPER_INVALID,
                                "The list is too long for one answer; list fewer levels.");
    if (append_entry(tree->entries, directory, name, shown, &status) && S_ISDIR(status.st_mode))
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
