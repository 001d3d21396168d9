/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/btrfs.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define SYSFS       "/sys/fs/btrfs/"
#define GROUP_MAX   ((UINT64_C(1) << 48) - 1) /* of groups of level 0 */
#define TARGET_SIZE 128
#define NUMBER_SIZE 32
/* With less room for all guests together it is btrfs-wrapper's to say where a group belongs. */
#define GUESTS_ROOM (UINT64_C(512) << 20)

int disk_group_read(const char *target, char *uuid, size_t uuid_size, uint64_t *group)
{
    static const char between[] = "/qgroups/0_";
    if (!str_starts_with(target, SYSFS))
        return -1;
    const char *id = target + strlen(SYSFS);
    size_t length = strspn(id, "0123456789abcdef-");
    if (length + 1 != BTRFS_UUID_TEXT_SIZE || length >= uuid_size ||
        !str_starts_with(id + length, between))
        return -1;
    snprintf(uuid, uuid_size, "%.*s", (int)length, id);
    return str_parse_u64(id + length + strlen(between), 1, GROUP_MAX, group);
}

/* A number of a quota group; no such group, or no such number: 0. */
static uint64_t read_number(const char *uuid, const char *group, const char *file)
{
    autofree char *path = xasprintf(SYSFS "%s/qgroups/%s/%s", uuid, group, file);
    autofclose FILE *from = fopen(path, "re");
    char text[NUMBER_SIZE];
    return from && fgets(text, sizeof text, from) ? strtoull(text, NULL, 10) : 0;
}

static int check_room(const char *uuid, const char *group, uint64_t bytes, struct error **err)
{
    uint64_t all = read_number(uuid, "1_0", "max_referenced");
    uint64_t taken = read_number(uuid, "1_0", "referenced");
    uint64_t used = read_number(uuid, group, "referenced");
    if (used > bytes)
        return error_set(err, ERR_RUNTIME_REFUSED, "the instance's disk holds %llu bytes",
                         (unsigned long long)used);
    /* One without any was not put among the guests yet. */
    if (!read_number(uuid, group, "max_referenced"))
        return error_set(err, ERR_RUNTIME_REFUSED, "the instance's disk has no limit");
    if (all && (taken > all || all - taken < GUESTS_ROOM))
        return error_set(err, ERR_RUNTIME_REFUSED, "the guests' part of the pool is all but full");
    return 0;
}

static int set_limit(const char *pool, const char *uuid, uint64_t group, uint64_t bytes,
                     struct error **err)
{
    char uuid_there[BTRFS_UUID_TEXT_SIZE];
    struct btrfs_ioctl_qgroup_limit_args limit = {
        .qgroupid = group, .lim = {.flags = BTRFS_QGROUP_LIMIT_MAX_RFER, .max_rfer = bytes}};
    autoclose int fd = open(pool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || btrfs_uuid_of(fd, uuid_there) < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "pool %s cannot be opened", pool);
    if (!str_equal(uuid, uuid_there))
        return error_set(err, ERR_RUNTIME_REFUSED, "the instance's disk is not in pool %s", pool);
    if (ioctl(fd, BTRFS_IOC_QGROUP_LIMIT, &limit) < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno,
                               "the limit of quota group 0/%llu cannot be set",
                               (unsigned long long)group);
    return 0;
}

int disk_size(const struct disks *disks, const struct order *order, struct error **err)
{
    autofree char *link = xasprintf("%s/%s", disks->links, order->instance);
    char target[TARGET_SIZE], uuid[BTRFS_UUID_TEXT_SIZE], name[NUMBER_SIZE];
    uint64_t group, bytes = (uint64_t)order->disk_gb << 30;
    ssize_t length = readlink(link, target, sizeof target - 1);
    target[length > 0 ? length : 0] = '\0';
    if (disk_group_read(target, uuid, sizeof uuid, &group) < 0)
        return error_set(err, ERR_RUNTIME_REFUSED, "the instance's disk has no quota group");
    snprintf(name, sizeof name, "0_%llu", (unsigned long long)group);
    if (check_room(uuid, name, bytes, err) < 0)
        return -1;
    return set_limit(disks->pool, uuid, group, bytes, err);
}
