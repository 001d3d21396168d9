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

/* Whether a second try may succeed: removed files free their space with the file system's next
 * commit, and this can force one. */
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

/* The bytes go into a file without a name, so an incomplete upload leaves nothing. */
int file_put_begin(struct request *request, struct keeper_error *error)
{
    const char *path;
    struct attributes attributes;
    if (request_path(request, "path", &path, error) < 0 ||
        request_attributes(request, &attributes, error) < 0)
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

/* Owner and mode: of the request, else of the replaced file, else the defaults. */
static int set_owner_and_mode(int file, int parent, const char *name,
                              const struct attributes *asked, bool *replaces,
                              struct keeper_error *error)
{
    struct stat old = {.st_uid = OWNER_ID, .st_gid = OWNER_ID, .st_mode = 0644};
    *replaces = fstatat(parent, name, &old, AT_SYMLINK_NOFOLLOW) == 0;
    if (*replaces && S_ISDIR(old.st_mode))
        return keeper_error_set(error, KEEPER_INVALID, "This is a directory.");
    if (*replaces && !S_ISREG(old.st_mode))
        old = (struct stat){.st_uid = OWNER_ID, .st_gid = OWNER_ID, .st_mode = 0644};
    /* The owner first: a change of the owner clears bits of the mode. */
    if (fchown(file, asked->uid < 0 ? old.st_uid : (uid_t)asked->uid,
               asked->gid < 0 ? old.st_gid : (gid_t)asked->gid) < 0 ||
        fchmod(file, asked->mode < 0 ? old.st_mode & 07777 : (mode_t)asked->mode) < 0)
        return keeper_error_set_errno(error, errno);
    return 0;
}

/* Give the file its name, in one step for readers. is_new: only where nothing is yet. */
static int name_file(int file, int parent, const char *name, bool is_new,
                     struct keeper_error *error)
{
    char from[40], fresh[PLACE_NAME_SIZE];
    snprintf(from, sizeof from, "/proc/self/fd/%d", file);
    place_random_name(KEEPER_NAME_NEW, fresh);
    if (linkat(AT_FDCWD, from, parent, fresh, AT_SYMLINK_FOLLOW) < 0)
        return keeper_error_set_errno(error, errno);
    if (renameat2(parent, fresh, parent, name, is_new ? RENAME_NOREPLACE : 0) < 0) {
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
    struct attributes asked;
    if (request_path(request, "path", &path, error) < 0 ||
        request_attributes(request, &asked, error) < 0)
        return -1;
    autoclose int parent = place_open_parent(request->volume, path, true, &name, error);
    if (parent < 0 || set_owner_and_mode(request->file, parent, name, &asked, replaces, error) < 0)
        return -1;
    return name_file(request->file, parent, name, asked.is_new, error);
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
    const char *name;
    struct attributes asked;
    struct stat status;
    if (request_attributes(request, &asked, error) < 0)
        return -1;
    autoclose int parent = place_open_parent(request->volume, path, true, &name, error);
    if (parent < 0)
        return -1;
    *made = mkdirat(parent, name, 0700) == 0;
    if (*made)
        return fchownat(parent, name, asked.uid < 0 ? OWNER_ID : (uid_t)asked.uid,
                        asked.gid < 0 ? OWNER_ID : (gid_t)asked.gid, AT_SYMLINK_NOFOLLOW) < 0 ||
                       fchmodat(parent, name, asked.mode < 0 ? 0755 : (mode_t)asked.mode, 0) < 0
                   ? keeper_error_set_errno(error, errno)
                   : 0;
    if (errno != EEXIST || asked.is_new)
        return keeper_error_set_errno(error, errno);
    autoclose int there = place_open(request->volume, path, 0);
    if (there < 0 || fstat(there, &status) < 0)
        return keeper_error_set_errno(error, errno);
    return S_ISDIR(status.st_mode) ? 0 : keeper_error_set_errno(error, EEXIST);
}

/* One that is there stays as it is, or is an error if the request makes a new one. */
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

/* --- owner and mode of existing files --- */

static int change(int place, const struct attributes *asked, struct stat *status,
                  struct keeper_error *error)
{
    char path[40];
    if (fstat(place, status) < 0)
        return keeper_error_set_errno(error, errno);
    if (asked->mode >= 0 && S_ISLNK(status->st_mode))
        return keeper_error_set(error, KEEPER_INVALID, "A link has no mode of its own.");
    /* The owner first: a change of the owner clears bits of the mode. */
    snprintf(path, sizeof path, "/proc/self/fd/%d", place);
    if (((asked->uid >= 0 || asked->gid >= 0) &&
         fchownat(place, "", (uid_t)asked->uid, (gid_t)asked->gid, AT_EMPTY_PATH) < 0) ||
        (asked->mode >= 0 && chmod(path, (mode_t)asked->mode) < 0) || fstat(place, status) < 0)
        return keeper_error_set_errno(error, errno);
    return 0;
}

/* The link itself, not its target. */
int path_patch(struct request *request, struct keeper_error *error)
{
    const char *path;
    struct attributes asked;
    struct stat status;
    if (request_path(request, "path", &path, error) < 0 ||
        request_attributes(request, &asked, error) < 0 ||
        fence_enter(request->fence, request->generation, error) < 0)
        return -1;
    autoclose int place = place_open(request->volume, path, O_NOFOLLOW);
    int result =
        place < 0 ? keeper_error_set_errno(error, errno) : change(place, &asked, &status, error);
    fence_leave(request->fence);
    return result < 0 ? -1 : httpd_reply_json(&request->http, 200, entry_json(&status));
}

/* --- a move --- */

#define MOVE_FROM "from"

static int move(struct request *request, const char *from, const char *to,
                struct keeper_error *error)
{
    const char *from_name, *to_name;
    struct stat status;
    autoclose int from_parent = place_open_parent(request->volume, from, false, &from_name, error);
    if (from_parent < 0)
        return keeper_error_argument(error, MOVE_FROM);
    /* Create no folder when the source does not exist. */
    if (fstatat(from_parent, from_name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        keeper_error_set_errno(error, errno);
        return keeper_error_argument(error, MOVE_FROM);
    }
    autoclose int to_parent = place_open_parent(request->volume, to, true, &to_name, error);
    if (to_parent < 0)
        return -1;
    if (renameat2(from_parent, from_name, to_parent, to_name, RENAME_NOREPLACE) < 0)
        return keeper_error_set_errno(error, errno);
    return reply_entry(request, 200, to_parent, to_name, error);
}

/* The link itself, not its target. Nothing is replaced. */
int path_move(struct request *request, struct keeper_error *error)
{
    const char *from, *to;
    if (request_path(request, MOVE_FROM, &from, error) < 0 ||
        request_path(request, "to", &to, error) < 0)
        return -1;
    if (fence_enter(request->fence, request->generation, error) < 0)
        return -1;
    int result = move(request, from, to, error);
    fence_leave(request->fence);
    return result;
}
