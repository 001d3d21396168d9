/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "btrfs/size.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "btrfs/files.h"
#include "btrfs/pool.h"
#include "common/btrfs.h"

#define STATE  "state"
#define MEMORY "sandlot-memory"
#define OWNER  "sandlot-owner"

/* --- the image of a copy --- */

void size_put_aside(const char *instance)
{
    autofree char *state = files_path(instance, STATE);
    autofree char *memory = files_path(instance, MEMORY);
    autofree char *owner = files_read_line(state, OWNER);
    const char *name = strrchr(instance, '/');
    if (!owner || str_equal(owner, name ? name + 1 : instance) || access(memory, F_OK) == 0)
        return;
    if (rename(state, memory) < 0 || mkdir(state, 0700) < 0)
        fprintf(stderr, "btrfs: the memory of %s cannot be put aside: %s\n", instance,
                strerror(errno));
}

/* --- the top of the file system --- */

char *size_top_of(const char *path)
{
    autofree char *top = realpath(path, NULL);
    struct statx found;
    while (top) {
        if (statx(AT_FDCWD, top, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &found) < 0)
            return NULL;
        if (found.stx_attributes & STATX_ATTR_MOUNT_ROOT)
            return S_ISDIR(found.stx_mode) ? steal_pointer(&top) : NULL;
        char *slash = strrchr(top, '/');
        /* No kernel of today has a root that is not mounted. */
        if (!slash[1])
            return NULL;
        slash[slash == top] = '\0';
    }
    return NULL;
}

/* --- among the guests --- */

enum size_joiner size_joiner_of(const char *groups, uint64_t group)
{
    char name[BTRFS_GROUP_NAME_SIZE];
    btrfs_group_name(group, name);
    uint64_t most = btrfs_group_read(groups, BTRFS_GUESTS_NAME, "max_referenced");
    uint64_t used = btrfs_group_read(groups, BTRFS_GUESTS_NAME, "referenced");
    if (used > most || most - used < BTRFS_GUESTS_ROOM)
        return SIZE_GUARD;
    return btrfs_group_read(groups, name, "max_referenced") ? SIZE_JOINED : SIZE_HERE;
}

/* incusd takes standard output for an answer of btrfs. */
static void run_guard(const char *guard, const char *path)
{
    char *const command[] = {(char *)guard, (char *)"join", (char *)path, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    errno = posix_spawn(&pid, guard, &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (errno)
        fprintf(stderr, "btrfs: %s cannot be run: %s\n", guard, strerror(errno));
    else
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
}

/* pool-guard has the same lock, under which one at a time changes what belongs where. */
static void join_here(int top, uint64_t group)
{
    if (flock(top, LOCK_EX) < 0 || btrfs_group_join(top, group, BTRFS_GUESTS) < 0)
        fprintf(stderr, "ERROR: unable to assign quota group: %s\n", strerror(errno));
}

static void join(enum size_joiner joiner, int top, const struct asked *asked, const char *guard)
{
    if (access(guard, X_OK) < 0)
        return;
    if (joiner == SIZE_GUARD)
        run_guard(guard, asked->path);
    else if (joiner == SIZE_HERE)
        join_here(top, asked->group);
}

int size_set(const struct asked *asked, const char *guard)
{
    if (strstr(asked->path, POOL_INSTANCES))
        size_put_aside(asked->path);
    autofree char *top = size_top_of(asked->path);
    autoclose int fd = top ? open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    autofree char *groups = fd < 0 ? NULL : btrfs_groups_of(fd);
    if (!groups)
        return -1;
    enum size_joiner joiner = size_joiner_of(groups, asked->group);
    int result = btrfs_group_limit(fd, asked->group, asked->limit, asked->bytes);
    if (result < 0)
        fprintf(stderr, "ERROR: unable to limit requested quota group: %s\n", strerror(errno));
    join(joiner, fd, asked, guard);
    return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
