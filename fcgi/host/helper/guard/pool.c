/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/guard/pool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define OWN_ROOM        (16 * GUARD_MIB) /* of a subvolume that joins a full pool */
#define RESERVE_PERCENT 10
#define GUARANTEE_MIB   256
#define GUARANTEE_MOST  (UINT64_C(1) << 30) /* MiB */
#define LEVEL_SHIFT     48
#define NAME_SIZE       64
#define SIMPLE_QUOTAS   "squota"

/* --- the pool --- */

static uint64_t setting(const char *name, uint64_t most, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t value;
    return text && str_parse_u64(text, 0, most, &value) == 0 ? value : otherwise;
}

static bool has_simple_quotas(const char *groups)
{
    autofree char *path = xasprintf("%s/mode", groups);
    char mode[NAME_SIZE] = "";
    autofclose FILE *file = fopen(path, "re");
    if (!file || !fgets(mode, sizeof mode, file))
        return false;
    mode[strcspn(mode, "\n")] = '\0';
    return str_equal(mode, SIMPLE_QUOTAS);
}

int guard_pool_find(struct guard_pool *pool, const char *path)
{
    *pool = (struct guard_pool){
        .top = btrfs_top_of(path),
        .fd = -1,
        .guarantee =
            setting("SANDLOT_POOL_GUARANTEE_MIB", GUARANTEE_MOST, GUARANTEE_MIB) * GUARD_MIB,
        .percent = (unsigned)setting("SANDLOT_POOL_RESERVE_PERCENT", 100, RESERVE_PERCENT),
    };
    autoclose int fd = pool->top ? open(pool->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0 || btrfs_uuid_of(fd, pool->uuid) < 0)
        return -1;
    pool->groups = btrfs_groups_of(fd);
    return pool->groups && has_simple_quotas(pool->groups) ? 0 : -1;
}

void guard_pool_deinit(struct guard_pool *pool)
{
    guard_pool_let_go(pool);
    free(pool->top);
    free(pool->groups);
}

static bool is_mounted(int fd)
{
    struct statx found;
    return statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &found) == 0 &&
           found.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

int guard_pool_hold(struct guard_pool *pool)
{
    struct statvfs found;
    char uuid[BTRFS_UUID_TEXT_SIZE];
    pool->fd = open(pool->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (pool->fd >= 0 && is_mounted(pool->fd) && btrfs_uuid_of(pool->fd, uuid) == 0 &&
        str_equal(uuid, pool->uuid) && flock(pool->fd, LOCK_EX) == 0 &&
        fstatvfs(pool->fd, &found) == 0) {
        pool->room = guard_room_of((uint64_t)found.f_blocks * found.f_frsize,
                                   (uint64_t)found.f_bavail * found.f_frsize, pool->percent);
        return 0;
    }
    guard_pool_let_go(pool);
    return -1;
}

void guard_pool_let_go(struct guard_pool *pool)
{
    if (pool->fd >= 0)
        close(pool->fd);
    pool->fd = -1;
}

/* --- groups --- */

static uint64_t group_of(unsigned level, uint64_t id)
{
    return (uint64_t)level << LEVEL_SHIFT | id;
}

static uint64_t group_read(const struct guard_pool *pool, unsigned level, uint64_t id,
                           const char *file)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%u_%ju", level, (uintmax_t)id);
    return btrfs_group_read(pool->groups, name, file);
}

static bool group_exists(const struct guard_pool *pool, unsigned level, uint64_t id)
{
    autofree char *path = xasprintf("%s/%u_%ju", pool->groups, level, (uintmax_t)id);
    return access(path, F_OK) == 0;
}

uint64_t *guard_group_list(const char *groups, unsigned level, unsigned *count)
{
    uint64_t *ids = NULL, id;
    char prefix[NAME_SIZE];
    DIR *all = opendir(groups);
    *count = 0;
    snprintf(prefix, sizeof prefix, "%u_", level);
    for (const struct dirent *entry; all && (entry = readdir(all));) {
        if (!str_starts_with(entry->d_name, prefix) ||
            str_parse_u64(entry->d_name + strlen(prefix), 0, BTRFS_SUBVOLUME_MAX, &id) < 0)
            continue;
        ids = xreallocarray(ids, *count + 1, sizeof *ids);
        ids[(*count)++] = id;
    }
    if (all)
        closedir(all);
    return ids;
}

static int limit(const struct guard_pool *pool, uint64_t group, uint64_t bytes)
{
    return btrfs_group_limit(pool->fd, group, BTRFS_QGROUP_LIMIT_MAX_RFER, bytes);
}

int guard_groups_prepare(const struct guard_pool *pool)
{
    unsigned count;
    if (!group_exists(pool, 1, 1))
        btrfs_group_make(pool->fd, BTRFS_IMAGES);
    if (group_exists(pool, 1, 0))
        return 0;
    if (btrfs_group_make(pool->fd, BTRFS_GUESTS) < 0)
        return -1;
    autofree uint64_t *ids = guard_group_list(pool->groups, 0, &count);
    for (unsigned i = 0; i < count; i++)
        if (group_read(pool, 0, ids[i], "max_referenced"))
            btrfs_group_join(pool->fd, ids[i], BTRFS_GUESTS);
    return 0;
}

void guard_set_limit(const struct guard_pool *pool)
{
    uint64_t wanted;
    if (guard_limit_changes(&pool->room, group_read(pool, 1, 0, "referenced"),
                            group_read(pool, 1, 0, "max_referenced"), &wanted) &&
        limit(pool, BTRFS_GUESTS, wanted) < 0)
        fprintf(stderr, "pool-guard: cannot set the sandboxes' limit of %s: %s\n", pool->top,
                strerror(errno));
}

/* --- subvolumes outside the guests' part --- */

/* own: the bytes that the subvolume may write now, beyond its usage. */
static void lean_one(const struct guard_pool *pool, uint64_t id, uint64_t own)
{
    uint64_t lean = group_of(2, id);
    if (group_exists(pool, 2, id))
        return;
    uint64_t used = group_read(pool, 0, id, "referenced");
    uint64_t others = group_read(pool, 1, 0, "referenced");
    if (btrfs_group_make(pool->fd, lean) < 0 ||
        limit(pool, lean, guard_lean_limit(used, own, pool->guarantee)) < 0)
        return;
    btrfs_group_join(pool->fd, id, lean);
    limit(pool, BTRFS_GUESTS, guard_others_limit(others, used));
    btrfs_group_leave(pool->fd, id, BTRFS_GUESTS);
}

static void unlean_one(const struct guard_pool *pool, uint64_t id)
{
    if (group_exists(pool, 0, id)) {
        btrfs_group_join(pool->fd, id, BTRFS_GUESTS);
        btrfs_group_leave(pool->fd, id, group_of(2, id));
    }
    btrfs_group_destroy(pool->fd, group_of(2, id));
}

void guard_lean_all(const struct guard_pool *pool)
{
    unsigned count;
    autofree uint64_t *ids = guard_group_list(pool->groups, 0, &count);
    for (unsigned i = 0; i < count; i++)
        if (group_read(pool, 0, ids[i], "max_referenced") &&
            group_read(pool, 0, ids[i], "referenced") < pool->guarantee)
            lean_one(pool, ids[i], 0);
}

void guard_unlean_all(const struct guard_pool *pool, bool but_there)
{
    unsigned count;
    autofree uint64_t *ids = guard_group_list(pool->groups, 2, &count);
    for (unsigned i = 0; i < count; i++)
        if (!but_there || !group_exists(pool, 0, ids[i]))
            unlean_one(pool, ids[i]);
}

static void join(struct guard_pool *pool, uint64_t id)
{
    if (!group_exists(pool, 1, 0) || guard_pool_hold(pool) < 0)
        return;
    if (guard_is_full(&pool->room))
        lean_one(pool, id, OWN_ROOM);
    else
        guard_set_limit(pool); /* there may be room since the guard's last check */
    if (!group_exists(pool, 2, id))
        btrfs_group_join(pool->fd, id, BTRFS_GUESTS);
}

void guard_join(const char *path, uint64_t id)
{
    struct guard_pool pool;
    if (guard_pool_find(&pool, path) == 0)
        join(&pool, id);
    guard_pool_deinit(&pool);
}
