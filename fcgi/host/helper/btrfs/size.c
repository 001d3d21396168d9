/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/btrfs/size.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "common/btrfs.h"
#include "helper/btrfs/files.h"
#include "helper/btrfs/pool.h"
#include "helper/guard/pool.h"

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
        fprintf(stderr, "btrfs: cannot put the memory of %s aside: %s\n", instance,
                strerror(errno));
}

/* --- joining the guests --- */

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

/* Join the guests under the lock of the pool guard: one process at a time changes the groups. */
static void join_here(int top, uint64_t group)
{
    if (flock(top, LOCK_EX) < 0 || btrfs_group_join(top, group, BTRFS_GUESTS) < 0)
        fprintf(stderr, "ERROR: unable to assign quota group: %s\n", strerror(errno));
}

static void join(enum size_joiner joiner, int top, const struct btrfs_call *asked)
{
    if (joiner == SIZE_GUARD)
        guard_join(asked->path, asked->group);
    else if (joiner == SIZE_HERE)
        join_here(top, asked->group);
}

int size_set(const struct btrfs_call *asked)
{
    if (strstr(asked->path, POOL_INSTANCES))
        size_put_aside(asked->path);
    autofree char *top = btrfs_top_of(asked->path);
    autoclose int fd = top ? open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    autofree char *groups = fd < 0 ? NULL : btrfs_groups_of(fd);
    if (!groups)
        return -1;
    enum size_joiner joiner = size_joiner_of(groups, asked->group);
    int result = btrfs_group_limit(fd, asked->group, asked->limit, asked->bytes);
    if (result < 0)
        fprintf(stderr, "ERROR: unable to limit requested quota group: %s\n", strerror(errno));
    join(joiner, fd, asked);
    return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
