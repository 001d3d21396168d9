/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree is removed level by level: a directory with something in it is moved up beside the others
 * of the tree's top, where it waits for its turn. So neither depth nor width costs memory or file
 * descriptors, no link is ever followed, and every step leaves a tree that can be gone on with.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "keeper/handlers.h"
#include "keeper/place.h"

#define GIVEN_UP 1

struct removal {
    int top; /* where directories are moved up to */
    struct fence *fence;
    uint64_t generation;
    bool progress;
};

static DIR *open_below(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory && fd >= 0)
        close(fd);
    return directory;
}

/* A file, or a directory with nothing in it. */
static int remove_plain(int parent, const char *name)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -1;
}

/* Empty one directory of the top; its directories go up. */
static int flatten(struct removal *removal, const char *name)
{
    DIR *directory = open_below(removal->top, name);
    struct dirent *one;
    int result = directory ? 0 : -1;
    while (result == 0 && (one = readdir(directory))) {
        char fresh[PLACE_NAME_SIZE];
        if (!strcmp(one->d_name, ".") || !strcmp(one->d_name, ".."))
            continue;
        if (fence_is_raised(removal->fence, removal->generation)) {
            result = GIVEN_UP;
        } else if (remove_plain(dirfd(directory), one->d_name) == 0) {
            removal->progress = true;
        } else if (errno == ENOTEMPTY) {
            place_random_name("", fresh);
            result =
                renameat2(dirfd(directory), one->d_name, removal->top, fresh, RENAME_NOREPLACE);
            removal->progress |= result == 0;
        } else {
            result = -1;
        }
    }
    int errnum = errno;
    if (directory)
        closedir(directory);
    if (result == 0)
        result = unlinkat(removal->top, name, AT_REMOVEDIR) == 0 ? 0 : -1;
    else
        errno = errnum;
    return result;
}

/* One look through the top. *left: entries that are still there. */
static int pass(struct removal *removal, unsigned *left)
{
    DIR *top = open_below(removal->top, ".");
    struct dirent *one;
    int result = top ? 0 : -1, errnum = 0;
    *left = 0;
    removal->progress = false;
    while (result != GIVEN_UP && top && (one = readdir(top))) {
        if (!strcmp(one->d_name, ".") || !strcmp(one->d_name, ".."))
            continue;
        if (fence_is_raised(removal->fence, removal->generation)) {
            result = GIVEN_UP;
        } else if (remove_plain(removal->top, one->d_name) == 0) {
            removal->progress = true;
        } else {
            int flattened = errno == ENOTEMPTY ? flatten(removal, one->d_name) : -1;
            removal->progress |= flattened == 0;
            if (flattened < 0)
                errnum = errno;
            if (flattened == GIVEN_UP)
                result = GIVEN_UP;
            ++*left;
        }
    }
    if (top)
        closedir(top);
    errno = errnum;
    return result;
}

int tree_empty(int directory, struct fence *fence, uint64_t generation)
{
    struct removal removal = {directory, fence, generation, false};
    unsigned left;
    int result;
    do
        result = pass(&removal, &left);
    while (result == 0 && left && removal.progress);
    if (result == 0 && left)
        return -1;
    return result;
}
