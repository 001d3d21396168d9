/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/btrfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define NUMBER_SIZE 32

char *btrfs_top_of(const char *path)
{
    autofree char *top = realpath(path, NULL);
    struct statx found;
    while (top) {
        if (statx(AT_FDCWD, top, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &found) < 0)
            return NULL;
        if (found.stx_attributes & STATX_ATTR_MOUNT_ROOT)
            return S_ISDIR(found.stx_mode) ? steal_pointer(&top) : NULL;
        char *slash = strrchr(top, '/');
        /* Not reached on present kernels: their root directory is always a mount. */
        if (!slash[1])
            return NULL;
        slash[slash == top] = '\0';
    }
    return NULL;
}

int btrfs_uuid_of(int fd, char text[BTRFS_UUID_TEXT_SIZE])
{
    struct btrfs_ioctl_fs_info_args info = {.max_id = 0};
    size_t size = 0;
    if (ioctl(fd, BTRFS_IOC_FS_INFO, &info) < 0)
        return -1;
    for (size_t i = 0; i < BTRFS_FSID_SIZE; i++)
        size += (size_t)snprintf(text + size, BTRFS_UUID_TEXT_SIZE - size,
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                                 info.fsid[i]);
    return 0;
}

/* --- quota groups --- */

char *btrfs_groups_of(int fd)
{
    char uuid[BTRFS_UUID_TEXT_SIZE];
    return btrfs_uuid_of(fd, uuid) < 0 ? NULL : xasprintf(BTRFS_SYSFS "%s/qgroups", uuid);
}

void btrfs_group_name(uint64_t subvolume, char name[BTRFS_GROUP_NAME_SIZE])
{
    snprintf(name, BTRFS_GROUP_NAME_SIZE, "0_%llu", (unsigned long long)subvolume);
}

uint64_t btrfs_group_read(const char *groups, const char *group, const char *file)
{
    autofree char *path = xasprintf("%s/%s/%s", groups, group, file);
    autofclose FILE *from = fopen(path, "re");
    char text[NUMBER_SIZE];
    return from && fgets(text, sizeof text, from) ? strtoull(text, NULL, 10) : 0;
}

int btrfs_group_limit(int fd, uint64_t group, uint64_t kind, uint64_t bytes)
{
    struct btrfs_ioctl_qgroup_limit_args order = {.qgroupid = group, .lim = {.flags = kind}};
    if (kind == BTRFS_QGROUP_LIMIT_MAX_EXCL)
        order.lim.max_excl = bytes;
    else
        order.lim.max_rfer = bytes;
    return ioctl(fd, BTRFS_IOC_QGROUP_LIMIT, &order) < 0 ? -1 : 0;
}

static int assign(int fd, bool below, uint64_t group, uint64_t parent)
{
    struct btrfs_ioctl_qgroup_assign_args order = {.assign = below, .src = group, .dst = parent};
    return ioctl(fd, BTRFS_IOC_QGROUP_ASSIGN, &order) < 0 ? -1 : 0;
}

int btrfs_group_join(int fd, uint64_t group, uint64_t parent)
{
    return assign(fd, true, group, parent);
}

int btrfs_group_leave(int fd, uint64_t group, uint64_t parent)
{
    return assign(fd, false, group, parent);
}

static int create_group(int fd, bool made, uint64_t group)
{
    struct btrfs_ioctl_qgroup_create_args order = {.create = made, .qgroupid = group};
    return ioctl(fd, BTRFS_IOC_QGROUP_CREATE, &order) < 0 ? -1 : 0;
}

int btrfs_group_make(int fd, uint64_t group)
{
    return create_group(fd, true, group);
}

int btrfs_group_destroy(int fd, uint64_t group)
{
    return create_group(fd, false, group);
}

/* --- subvolumes --- */

/* Open the parent folder of a path. *name: the last part of the path; borrowed. */
static int open_parent(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    autofree char *parent = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    *name = slash ? slash + 1 : path;
    return open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Copy a name, and fail when it is too long. */
static int put_name(char *to, size_t size, const char *name)
{
    int length = snprintf(to, size, "%s", name);
    if (length > 0 && (size_t)length < size)
        return 0;
    errno = length > 0 ? ENAMETOOLONG : EINVAL;
    return -1;
}

/* Open a subvolume. A plain folder fails with EINVAL: the kernel would copy the subvolume around
 * it. */
static int open_subvolume(const char *path)
{
    struct stat found;
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &found) < 0)
        return -1;
    if (found.st_ino != BTRFS_FIRST_FREE_OBJECTID) {
        errno = EINVAL;
        return -1;
    }
    return steal_fd(&fd);
}

static int copy_subvolume(const char *from, const char *to, uint64_t flags)
{
    struct btrfs_ioctl_vol_args_v2 order = {.flags = flags};
    const char *name;
    autoclose int source = open_subvolume(from);
    autoclose int parent = source < 0 ? -1 : open_parent(to, &name);
    if (parent < 0 || put_name(order.name, sizeof order.name, name) < 0)
        return -1;
    order.fd = source;
    return ioctl(parent, BTRFS_IOC_SNAP_CREATE_V2, &order) < 0 ? -1 : 0;
}

int btrfs_subvolume_copy(const char *from, const char *to)
{
    return copy_subvolume(from, to, 0);
}

int btrfs_subvolume_copy_sealed(const char *from, const char *to)
{
    return copy_subvolume(from, to, BTRFS_SUBVOL_RDONLY);
}

int btrfs_subvolume_delete(const char *path)
{
    struct btrfs_ioctl_vol_args order = {.fd = 0};
    const char *name;
    autoclose int parent = open_parent(path, &name);
    if (parent < 0 || put_name(order.name, sizeof order.name, name) < 0)
        return -1;
    return ioctl(parent, BTRFS_IOC_SNAP_DESTROY, &order) < 0 ? -1 : 0;
}

static int read_flags(int fd, uint64_t *flags)
{
    return fd < 0 || ioctl(fd, BTRFS_IOC_SUBVOL_GETFLAGS, flags) < 0 ? -1 : 0;
}

int btrfs_subvolume_is_sealed(const char *path)
{
    uint64_t flags;
    autoclose int fd = open_subvolume(path);
    if (read_flags(fd, &flags) < 0)
        return -1;
    return flags & BTRFS_SUBVOL_RDONLY ? 1 : 0;
}

static int change_flags(const char *path, uint64_t cleared, uint64_t set)
{
    uint64_t flags;
    autoclose int fd = open_subvolume(path);
    if (read_flags(fd, &flags) < 0)
        return -1;
    flags = (flags & ~cleared) | set;
    return ioctl(fd, BTRFS_IOC_SUBVOL_SETFLAGS, &flags) < 0 ? -1 : 0;
}

int btrfs_subvolume_unseal(const char *path)
{
    return change_flags(path, BTRFS_SUBVOL_RDONLY, 0);
}

int btrfs_subvolume_seal(const char *path)
{
    return change_flags(path, 0, BTRFS_SUBVOL_RDONLY);
}

int btrfs_subvolume_look(const char *path, struct btrfs_subvolume *subvolume)
{
    struct btrfs_ioctl_get_subvol_info_args found;
    autoclose int fd = open_subvolume(path);
    if (fd < 0 || ioctl(fd, BTRFS_IOC_GET_SUBVOL_INFO, &found) < 0)
        return -1;
    *subvolume = (struct btrfs_subvolume){
        .id = found.treeid,
        .sealed = found.flags & BTRFS_ROOT_SUBVOL_RDONLY,
        .received = found.rtransid && found.rtransid >= found.otransid,
        .made_in = found.otransid,
        .changed_in = found.ctransid,
    };
    memcpy(subvolume->uuid, found.uuid, sizeof subvolume->uuid);
    memcpy(subvolume->parent_uuid, found.parent_uuid, sizeof subvolume->parent_uuid);
    return 0;
}

int btrfs_subvolume_set_received(const char *path, const unsigned char uuid[BTRFS_UUID_BYTES])
{
    struct btrfs_ioctl_received_subvol_args order = {.stransid = 1};
    autoclose int fd = open_subvolume(path);
    memcpy(order.uuid, uuid, BTRFS_UUID_BYTES);
    return fd < 0 || ioctl(fd, BTRFS_IOC_SET_RECEIVED_SUBVOL, &order) < 0 ? -1 : 0;
}

int btrfs_subvolume_send(const char *path, const char *parent, int out, uint32_t version)
{
    struct btrfs_ioctl_send_args order = {.send_fd = out};
    struct btrfs_subvolume had;
    __u64 clones[1];
    autoclose int fd = open_subvolume(path);
    if (version > 1) {
        order.flags = BTRFS_SEND_FLAG_VERSION;
        order.version = version;
    }
    if (parent) {
        if (btrfs_subvolume_look(parent, &had) < 0)
            return -1;
        /* As a clone source, the parent also saves the data that has only moved. */
        clones[0] = order.parent_root = had.id;
        order.clone_sources = clones;
        order.clone_sources_count = 1;
    }
    return fd < 0 || ioctl(fd, BTRFS_IOC_SEND, &order) < 0 ? -1 : 0;
}

/* In the tree of roots, each subvolume has a reference back to its folder until it is deleted. */
int btrfs_subvolume_exists(int fd, uint64_t id)
{
    struct btrfs_ioctl_search_args order = {.key = {
                                                .tree_id = BTRFS_ROOT_TREE_OBJECTID,
                                                .min_objectid = id,
                                                .max_objectid = id,
                                                .min_type = BTRFS_ROOT_BACKREF_KEY,
                                                .max_type = BTRFS_ROOT_BACKREF_KEY,
                                                .max_offset = UINT64_MAX,
                                                .max_transid = UINT64_MAX,
                                                .nr_items = 1,
                                            }};
    if (id < BTRFS_FIRST_FREE_OBJECTID)
        return 1;
    return ioctl(fd, BTRFS_IOC_TREE_SEARCH, &order) < 0 ? -1 : order.key.nr_items > 0;
}

int btrfs_subvolume_has_others(const char *path)
{
    struct btrfs_ioctl_get_subvol_rootref_args found = {.min_treeid = 0};
    autoclose int fd = open_subvolume(path);
    if (fd < 0)
        return -1;
    /* EOVERFLOW: more subvolumes than the answer can hold. */
    if (ioctl(fd, BTRFS_IOC_GET_SUBVOL_ROOTREF, &found) < 0)
        return errno == EOVERFLOW ? 1 : -1;
    return found.num_items > 0;
}
