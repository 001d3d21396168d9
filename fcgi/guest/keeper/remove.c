/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keeper/handlers.h"
#include "keeper/place.h"

/* How long an answer waits for the contents of a tree to be gone, so that their room is free when
 * it comes. The removal of a larger one continues after the answer. */
#define WAIT_S 5

/* The removal of a tree that has left its place, in a thread of its own, shared with the request as
 * long as that waits. */
struct removal {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool has_ended, alone; /* alone: without a waiting request; the remover frees it */
    int volume;
    char name[PLACE_NAME_SIZE]; /* below the volume's root; "": all names of ours */
    struct fence *fence;
    uint64_t generation;
};

static void removal_free(struct removal *removal)
{
    close(removal->volume);
    pthread_mutex_destroy(&removal->mutex);
    pthread_cond_destroy(&removal->ended);
    free(removal);
}

static void remove_tree(struct removal *removal, const char *name)
{
    autoclose int top =
        openat(removal->volume, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int result = top < 0 ? -1 : tree_empty(top, removal->fence, removal->generation);
    if (result == 0)
        result = unlinkat(removal->volume, name, AT_REMOVEDIR);
    if (result < 0 && errno != ENOENT)
        log_warning("cannot remove all files of a deleted directory; the next start of the volume "
                    "server tries again",
                    LOG_STR("name", name), LOG_INT("errno", errno));
    if (result > 0)
        fence_ask_again(removal->fence);
}

/* Remove entries of the root with our names: leftovers of a process that ended, or of a raised
 * fence, and trees whose removal found no room. with_files: also new files, which are leftovers as
 * long as no upload has begun. */
static void remove_unfinished(struct removal *removal, bool with_files)
{
    int fd = openat(removal->volume, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *root = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *one;
    while (root && (one = readdir(root)) && !fence_is_raised(removal->fence, removal->generation)) {
        if (with_files && str_starts_with(one->d_name, KEEPER_NAME_NEW))
            unlinkat(removal->volume, one->d_name, 0);
        else if (str_starts_with(one->d_name, KEEPER_NAME_REMOVED))
            remove_tree(removal, one->d_name);
    }
    if (root)
        closedir(root);
    else if (fd >= 0)
        close(fd);
    if (fence_is_raised(removal->fence, removal->generation))
        fence_ask_again(removal->fence);
}

static void *run(void *context)
{
    struct removal *removal = context;
    if (removal->name[0])
        remove_tree(removal, removal->name);
    else
        remove_unfinished(removal, true);
    /* Removals that found no room. */
    while (!fence_is_raised(removal->fence, removal->generation) && fence_is_first(removal->fence))
        remove_unfinished(removal, false);
    fence_leave_slow(removal->fence);
    pthread_mutex_lock(&removal->mutex);
    removal->has_ended = true;
    bool alone = removal->alone;
    pthread_cond_signal(&removal->ended);
    pthread_mutex_unlock(&removal->mutex);
    if (alone)
        removal_free(removal);
    return NULL;
}

static void wait_for(struct removal *removal)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += WAIT_S;
    pthread_mutex_lock(&removal->mutex);
    while (!removal->has_ended &&
           pthread_cond_timedwait(&removal->ended, &removal->mutex, &end) != ETIMEDOUT)
        ;
    removal->alone = true;
    bool ended = removal->has_ended;
    pthread_mutex_unlock(&removal->mutex);
    if (ended)
        removal_free(removal);
}

/* Its waits are not to last longer because somebody sets the clock. */
static void init_ended(struct removal *removal)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&removal->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Begin a removal; NULL when it cannot be, or when there are too many: the next one of the volume
 * then does its work too. */
static struct removal *begin(struct request *request, const char *name)
{
    pthread_t thread;
    if (fence_enter_slow(request->fence, request->generation) < 0)
        return NULL;
    struct removal *removal = xcalloc(1, sizeof *removal);
    pthread_mutex_init(&removal->mutex, NULL);
    init_ended(removal);
    snprintf(removal->name, sizeof removal->name, "%s", name);
    removal->alone = !*name;
    removal->volume = openat(request->volume, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    removal->fence = request->fence;
    removal->generation = request->generation;
    if (pthread_create(&thread, NULL, run, removal) != 0) {
        fence_ask_again(request->fence);
        fence_leave_slow(request->fence);
        removal_free(removal);
        return NULL;
    }
    pthread_detach(thread);
    return removal;
}

int volume_open(struct request *request, struct keeper_error *error)
{
    if (fence_enter(request->fence, request->generation, error) < 0)
        return -1;
    fence_leave(request->fence);
    if (fence_is_first(request->fence))
        begin(request, "");
    return httpd_reply_empty(&request->http, 204);
}

/* *moved: a directory with something in it now lies under this name at the root. */
static int take_out(struct request *request, const char *path, bool recursive,
                    char moved[PLACE_NAME_SIZE], struct keeper_error *error)
{
    const char *name;
    moved[0] = '\0';
    autoclose int parent = place_open_parent(request->volume, path, false, &name, error);
    if (parent < 0)
        return -1;
    if (unlinkat(parent, name, 0) == 0)
        return 0;
    if (errno != EISDIR)
        return keeper_error_set_errno(error, errno);
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
        return 0;
    if (errno != ENOTEMPTY || !recursive)
        return keeper_error_set_errno(error, errno);
    place_random_name(KEEPER_NAME_REMOVED, moved);
    autoclose int root = openat(request->volume, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || renameat2(parent, name, root, moved, RENAME_NOREPLACE) < 0)
        return keeper_error_set_errno(error, errno);
    return 0;
}

/* The link itself, not its target. */
int path_delete(struct request *request, struct keeper_error *error)
{
    char moved[PLACE_NAME_SIZE];
    const char *path;
    uint64_t recursive = 0;
    if (request_path(request, "path", &path, error) < 0 ||
        request_number(request, "recursive", &recursive, error) < 0 ||
        fence_enter(request->fence, request->generation, error) < 0)
        return -1;
    int result = take_out(request, path, recursive, moved, error);
    fence_leave(request->fence);
    if (result < 0)
        return -1;
    struct removal *removal = moved[0] ? begin(request, moved) : NULL;
    if (removal)
        wait_for(removal);
    return httpd_reply_empty(&request->http, 204);
}
