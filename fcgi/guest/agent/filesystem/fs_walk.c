/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/filesystem/fs_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/filesystem/fs_entry.h"
#include "agent/filesystem/fs_messages.h"
#include "base/guest_limits.h"

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void append_entry(const struct fs_walk *walk, struct buffer *answer, const FTSENT *file,
                         bool first)
{
    json_auto_t *entry = fs_entry(file->fts_path, file->fts_statp);
    if (walk->binary) {
        message_write_element(&fs_field_entries, entry, answer);
        return;
    }
    autofree char *text = json_dumps(entry, JSON_COMPACT);
    if (!first)
        buffer_append_char(answer, ',');
    buffer_append_string(answer, text);
}

/* Count the names in a directory, and stop at a number: reading the names alone is quick. */
static size_t count_names(const char *path, size_t most)
{
    size_t count = 0;
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder && count < most && (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (folder)
        closedir(folder);
    return count;
}

/* FTS looks at each file of a directory before it returns the first. */
static bool has_room_for(const FTSENT *file, const struct fs_walk *walk, size_t listed)
{
    size_t left = GUEST_LISTED_MAX - listed;
    return file->fts_info != FTS_D || file->fts_level >= walk->depth ||
           count_names(file->fts_path, left + 1) <= left;
}

static int refuse(const struct fs_walk *walk, struct rpc_error *error)
{
    return rpc_error_set(
        error, RPC_TOO_LARGE,
        "'%.128s' has more than %d entries in %" PRId64
        " level%s, and a listing can have %d: list its directories one by one, or run find",
        walk->path, GUEST_LISTED_MAX, walk->depth, walk->depth == 1 ? "" : "s", GUEST_LISTED_MAX);
}

/* Appends the entries. Returns whether they were few enough. *errnum: why the directory itself
 * cannot be read, or 0. A directory below it that cannot be read comes twice as well. */
static bool list_tree(const struct fs_walk *walk, FTS *tree, struct buffer *answer, int *errnum)
{
    size_t listed = 0;
    *errnum = 0;
    for (FTSENT *file; (file = fts_read(tree)) && !buffer_overflowed(answer);) {
        if (file->fts_level == 0 && file->fts_info == FTS_DNR)
            *errnum = file->fts_errno;
        if (file->fts_level > 0 && file->fts_info != FTS_DP && file->fts_info != FTS_DNR &&
            file->fts_info != FTS_NS) {
            if (listed == GUEST_LISTED_MAX)
                return false;
            append_entry(walk, answer, file, !listed++);
        }
        if (!has_room_for(file, walk, listed))
            return false;
        if (file->fts_level >= walk->depth)
            fts_set(tree, file, FTS_SKIP);
    }
    return true;
}

int fs_walk_list(const void *context, struct buffer *answer, struct rpc_error *error)
{
    const struct fs_walk *walk = context;
    struct stat status;
    if (stat(walk->path, &status) < 0)
        return rpc_error_set_errno(error, rpc_errno_of_reading(errno), "cannot list '%s'",
                                   walk->path);
    if (!S_ISDIR(status.st_mode))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "'%s' is not a directory", walk->path);
    char *const roots[] = {(char *)walk->path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    if (!tree)
        return rpc_error_set_errno(error, errno, "cannot list '%s'", walk->path);
    if (!walk->binary)
        buffer_append_string(answer, "{\"entries\":[");
    int errnum;
    bool whole = list_tree(walk, tree, answer, &errnum);
    fts_close(tree);
    if (errnum)
        return rpc_error_set_errno(error, rpc_errno_of_reading(errnum), "cannot list '%s'",
                                   walk->path);
    if (!whole)
        return refuse(walk, error);
    if (!walk->binary)
        buffer_append_string(answer, "]}");
    return 0;
}

int fs_walk_remove(const void *context, struct buffer *answer, struct rpc_error *error)
{
    const struct fs_walk *walk = context;
    char *const roots[] = {(char *)walk->path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL, NULL);
    if (!tree)
        return rpc_error_set_errno(error, errno, "cannot remove '%s'", walk->path);
    int errnum = 0;
    for (FTSENT *file; (file = fts_read(tree));) {
        /* Directories come twice; the second time they are empty. */
        if (file->fts_info == FTS_D)
            continue;
        int flag = file->fts_info == FTS_DP || file->fts_info == FTS_DNR ? AT_REMOVEDIR : 0;
        if (unlinkat(AT_FDCWD, file->fts_accpath, flag) < 0 && errno != ENOENT && !errnum)
            errnum = errno;
    }
    fts_close(tree);
    if (errnum)
        return rpc_error_set_errno(error, errnum, "cannot remove all of '%s'", walk->path);
    if (!walk->binary)
        buffer_append_string(answer, "{}");
    return 0;
}
