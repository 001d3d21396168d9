/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/btrfs.h"

#define TARGET_SIZE 128

int disk_group_read(const char *target, char *uuid, size_t uuid_size, uint64_t *group)
{
    static const char between[] = "/qgroups/0_";
    if (!str_starts_with(target, BTRFS_SYSFS))
        return -1;
    const char *id = target + strlen(BTRFS_SYSFS);
    size_t length = strspn(id, "0123456789abcdef-");
    if (length + 1 != BTRFS_UUID_TEXT_SIZE || length >= uuid_size ||
        !str_starts_with(id + length, between))
        return -1;
    snprintf(uuid, uuid_size, "%.*s", (int)length, id);
    return str_parse_u64(id + length + strlen(between), 1, BTRFS_SUBVOLUME_MAX, group);
}

static int check_room(const char *uuid, const char *group, uint64_t bytes, struct error **err)
{
    autofree char *groups = xasprintf(BTRFS_SYSFS "%s/qgroups", uuid);
    uint64_t all = btrfs_group_read(groups, BTRFS_GUESTS_NAME, "max_referenced");
    uint64_t taken = btrfs_group_read(groups, BTRFS_GUESTS_NAME, "referenced");
    uint64_t used = btrfs_group_read(groups, group, "referenced");
    if (used > bytes)
        return error_set(err, ERR_RUNTIME_REFUSED, "the instance's disk already has %llu bytes",
                         (unsigned long long)used);
    /* A group without a limit has not been put among the guests yet. */
    if (!btrfs_group_read(groups, group, "max_referenced"))
        return error_set(err, ERR_RUNTIME_REFUSED, "the instance's disk has no limit");
    /* In an almost full pool, the wrapper of btrfs decides which group a disk belongs to. */
    if (all && (taken > all || all - taken < BTRFS_GUESTS_ROOM))
        return error_set(err, ERR_RUNTIME_REFUSED,
                         "the sandboxes' part of the storage pool is nearly full");
    return 0;
}

/* Open the pool. Returns a descriptor, or -1. */
static int open_pool(const char *pool, char uuid[BTRFS_UUID_TEXT_SIZE], struct error **err)
{
    autoclose int fd = open(pool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || btrfs_uuid_of(fd, uuid) < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "cannot open the storage pool %s",
                               pool);
    return steal_fd(&fd);
}

int disks_check(const struct disks *disks, struct error **err)
{
    char uuid[BTRFS_UUID_TEXT_SIZE];
    autoclose int fd = open_pool(disks->pool, uuid, err);
    return fd < 0 ? -1 : 0;
}

static int set_limit(const char *pool, const char *uuid, uint64_t group, uint64_t bytes,
                     struct error **err)
{
    char uuid_there[BTRFS_UUID_TEXT_SIZE];
    autoclose int fd = open_pool(pool, uuid_there, err);
    if (fd < 0)
        return -1;
    if (!str_equal(uuid, uuid_there))
        return error_set(err, ERR_RUNTIME_REFUSED, "the instance's disk is not in pool %s", pool);
    if (btrfs_group_limit(fd, group, BTRFS_QGROUP_LIMIT_MAX_RFER, bytes) < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno,
                               "cannot set the limit of quota group 0/%llu",
                               (unsigned long long)group);
    return 0;
}

int disk_size(const struct disks *disks, const struct order *order, struct error **err)
{
    autofree char *link = xasprintf("%s/%s", disks->links, order->instance);
    char target[TARGET_SIZE], uuid[BTRFS_UUID_TEXT_SIZE], name[BTRFS_GROUP_NAME_SIZE];
    uint64_t group, bytes = (uint64_t)order->disk_gb << 30;
    ssize_t length = readlink(link, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    if (disk_group_read(target, uuid, sizeof uuid, &group) < 0)
        return error_set(err, ERR_RUNTIME_REFUSED, "the instance's disk has no quota group");
    btrfs_group_name(group, name);
    if (check_room(uuid, name, bytes, err) < 0)
        return -1;
    return set_limit(disks->pool, uuid, group, bytes, err);
}
