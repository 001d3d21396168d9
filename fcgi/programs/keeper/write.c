/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files written, directories made, things moved. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "keeper/entry.h"
#include "keeper/handlers.h"
#include "keeper/place.h"

/* --- a file --- */

/* Whether it is worth a second try: the room of what was removed comes back with the file system's
 * next commit, which need not be waited for. */
static bool make_room(struct request *request, int errnum)
{
    if ((errnum != EDQUOT && errnum != ENOSPC) || request->room_made)
        return false;
    request->room_made = true;
    autoclose int root = openat(request->volume, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return root >= 0 && syncfs(root) == 0;
}

static int open_nameless(const struct request *request)
{
    return openat(request->volume, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
}

/* The bytes go into a file without a name: whoever dies before it is whole leaves nothing. */
int file_put_begin(struct request *request, struct keeper_error *error)
{
    const char *path;
    mode_t mode;
    bool given;
    if (request_path(request, "path", &path, error) < 0 ||
        request_mode(request, &mode, &given, error) < 0)
        return -1;
    request->file = open_nameless(request);
    if (request->file < 0 && make_room(request, errno))
        request->file = open_nameless(request);
    return request->file < 0 ? keeper_error_set_errno(error, errno) : 0;
}

int file_put_data(struct request *request, const char *data, size_t size,
                  struct keeper_error *error)
{
    while (size) {
        ssize_t written = write(request->file, data, size);
        if (written < 0 && (errno == EINTR || make_room(request, errno)))
            continue;
        if (written < 0)
            return keeper_error_set_errno(error, errno);
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

/* Owner and mode: what was asked for, else those of the file that is replaced, else the usual. */
static int set_owner_and_mode(int file, int parent, const char *name, mode_t mode, bool mode_given,
                              bool *replaces, struct keeper_error *error)
{
    struct stat old;
    uid_t user = OWNER_ID;
    gid_t group = OWNER_ID;
    *replaces = fstatat(parent, name, &old, AT_SYMLINK_NOFOLLOW) == 0;
    if (*replaces && S_ISDIR(old.st_mode))
        return keeper_error_set(error, KEEPER_INVALID, "This is a directory.");
    if (*replaces && S_ISREG(old.st_mode)) {
        user = old.st_uid;
        group = old.st_gid;
        if (!mode_given)
            mode = old.st_mode & 07777;
    } else if (!mode_given) {
        mode = 0644;
    }
    /* The owner first: a change of it takes bits off the mode. */
    if (fchown(file, user, group) < 0 || fchmod(file, mode) < 0)
        return keeper_error_set_errno(error, errno);
    return 0;
}

/* Give the file its name, in one step for whoever looks. */
static int name_file(int file, int parent, const char *name, struct keeper_error *error)
{
    char from[40], fresh[PLACE_NAME_SIZE];
    snprintf(from, sizeof from, "/proc/self/fd/%d", file);
    place_random_name(PLACE_NEW, fresh);
    if (linkat(AT_FDCWD, from, parent, fresh, AT_SYMLINK_FOLLOW) < 0)
        return keeper_error_set_errno(error, errno);
    if (renameat(parent, fresh, parent, name) < 0) {
        int errnum = errno;
        unlinkat(parent, fresh, 0);
        return keeper_error_set_errno(error, errnum);
    }
    autoclose int directory = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0 || fsync(directory) < 0)
        return keeper_error_set_errno(error, errno);
    return 0;
}

static int place_file(struct request *request, bool *replaces, struct keeper_error *error)
{
    const char *path, *name;
    mode_t mode = 0;
    bool given;
    if (request_path(request, "path", &path, error) < 0 ||
        request_mode(request, &mode, &given, error) < 0)
        return -1;
    autoclose int parent = place_open_parent(request->volume, path, true, &name, error);
    if (parent < 0 ||
        set_owner_and_mode(request->file, parent, name, mode, given, replaces, error) < 0)
        return -1;
    return name_file(request->file, parent, name, error);
}

int file_put_finish(struct request *request, struct keeper_error *error)
{
    struct stat status;
    bool replaces;
    /* Most of the writing is done before the volume is held. */
    if (fdatasync(request->file) < 0)
        return keeper_error_set_errno(error, errno);
    if (fence_enter(request->fence, request->generation, error) < 0)
        return -1;
    int result = place_file(request, &replaces, error);
    fence_leave(request->fence);
    if (result < 0)
        return -1;
    if (fstat(request->file, &status) < 0)
        return keeper_error_set_errno(error, errno);
    return httpd_reply_json(&request->http, replaces ? 200 : 201, entry_json(&status));
}

/* --- a directory --- */

static int reply_entry(struct request *request, unsigned code, int parent, const char *name,
                       struct keeper_error *error)
{
    struct stat status;
    if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return keeper_error_set_errno(error, errno);
    return httpd_reply_json(&request->http, code, entry_json(&status));
}

static int make_directory(struct request *request, const char *path, bool *made,
                          struct keeper_error *error)
{
    mode_t mode = 0755;
    const char *name;
    bool given;
    struct stat status;
    if (request_mode(request, &mode, &given, error) < 0)
        return -1;
    autoclose int parent = place_open_parent(request->volume, path, true, &name, error);
    if (parent < 0)
        return -1;
    *made = mkdirat(parent, name, 0700) == 0;
    if (*made)
        return fchownat(parent, name, OWNER_ID, OWNER_ID, AT_SYMLINK_NOFOLLOW) < 0 ||
                       fchmodat(parent, name, mode, 0) < 0
                   ? keeper_error_set_errno(error, errno)
                   : 0;
    if (errno != EEXIST)
        return keeper_error_set_errno(error, errno);
    autoclose int there = place_open(request->volume, path, 0);
    if (there < 0 || fstat(there, &status) < 0)
        return keeper_error_set_errno(error, errno);
    return S_ISDIR(status.st_mode) ? 0 : keeper_error_set_errno(error, EEXIST);
}

/* One that is there stays as it is. */
int directory_put(struct request *request, struct keeper_error *error)
{
    const char *path;
    struct stat status;
    bool made = false;
    if (request_path(request, "path", &path, error) < 0)
        return -1;
    if (*path) {
        if (fence_enter(request->fence, request->generation, error) < 0)
            return -1;
        int result = make_directory(request, path, &made, error);
        fence_leave(request->fence);
        if (result < 0)
            return -1;
    }
    autoclose int there = place_open(request->volume, path, 0);
    if (there < 0 || fstat(there, &status) < 0)
        return keeper_error_set_errno(error, errno);
    return httpd_reply_json(&request->http, made ? 201 : 200, entry_json(&status));
}

/* --- a move --- */

static int move(struct request *request, const char *from, const char *to,
                struct keeper_error *error)
{
    const char *from_name, *to_name;
    struct stat status;
    autoclose int from_parent = place_open_parent(request->volume, from, false, &from_name, error);
    if (from_parent < 0)
        return -1;
    /* Nothing is made for what is not there to be moved. */
    if (fstatat(from_parent, from_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return keeper_error_set_errno(error, errno);
    autoclose int to_parent = place_open_parent(request->volume, to, true, &to_name, error);
    if (to_parent < 0)
        return -1;
    if (renameat2(from_parent, from_name, to_parent, to_name, RENAME_NOREPLACE) < 0)
        return keeper_error_set_errno(error, errno);
    return reply_entry(request, 200, to_parent, to_name, error);
}

/* Of a link itself, not of what it points to. Nothing is replaced. */
int path_move(struct request *request, struct keeper_error *error)
{
    const char *from, *to;
    if (request_path(request, "from", &from, error) < 0 ||
        request_path(request, "to", &to, error) < 0)
        return -1;
    if (fence_enter(request->fence, request->generation, error) < 0)
        return -1;
    int result = move(request, from, to, error);
    fence_leave(request->fence);
    return result;
}
