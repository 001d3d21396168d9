/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/filesystem/fs_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/filesystem/fs_entry.h"
#include "agent/filesystem/fs_messages.h"
#include "base/mem.h"

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
    bool first = true;
    if (!walk->binary)
        buffer_append_string(answer, "{\"entries\":[");
    for (FTSENT *file; (file = fts_read(tree)) && !buffer_overflowed(answer);) {
        if (file->fts_level > 0 && file->fts_info != FTS_DP && file->fts_info != FTS_NS) {
            append_entry(walk, answer, file, first);
            first = false;
        }
        if (file->fts_level >= walk->depth)
            fts_set(tree, file, FTS_SKIP);
    }
    fts_close(tree);
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
