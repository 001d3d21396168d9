/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call btrfs in the kernel: quota groups and subvolumes. Unless stated otherwise, functions return
 * 0, or -1 with errno. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BTRFS_UUID_TEXT_SIZE 37
#define BTRFS_UUID_BYTES     16
#define BTRFS_SYSFS          "/sys/fs/btrfs/"

/* Quota groups of the pool guard (helper/guard/pool.h). 1/0 has all guests, and counts as almost
 * full with less than BTRFS_GUESTS_ROOM left. 1/1 has the memory images. The _NAME forms are those
 * of sysfs. */
#define BTRFS_GUESTS      (UINT64_C(1) << 48)
#define BTRFS_GUESTS_NAME "1_0"
#define BTRFS_GUESTS_ROOM (UINT64_C(512) << 20)
#define BTRFS_IMAGES      (UINT64_C(1) << 48 | 1)
#define BTRFS_IMAGES_NAME "1_1"
/* The highest id of a group of level 0. Each subvolume has such a group. */
#define BTRFS_SUBVOLUME_MAX ((UINT64_C(1) << 48) - 1)

/* Return the mount point of the file system that holds a path; the caller frees it. NULL: the path
 * does not exist, or is on a single mounted file. */
char *btrfs_top_of(const char *path);

/* Write the id of the file system of an open file, as sysfs spells it. Fails when the file system
 * is not btrfs. */
int btrfs_uuid_of(int fd, char text[BTRFS_UUID_TEXT_SIZE]);

/* Return the folder of sysfs with the quota groups of a file system; the caller frees it. NULL: the
 * file system is not btrfs. */
char *btrfs_groups_of(int fd);

/* Write the name that sysfs gives to the quota group of a subvolume: "0_257". */
#define BTRFS_GROUP_NAME_SIZE 32
void btrfs_group_name(uint64_t subvolume, char name[BTRFS_GROUP_NAME_SIZE]);

/* Read a number of a quota group. groups: the folder from btrfs_groups_of(). Returns 0 when the
 * group or the file does not exist. */
uint64_t btrfs_group_read(const char *groups, const char *group, const char *file);

/* Set the limit of a quota group. fd: any open file of the file system; its subvolume pays for the
 * change. kind: BTRFS_QGROUP_LIMIT_MAX_RFER or BTRFS_QGROUP_LIMIT_MAX_EXCL. bytes: UINT64_MAX
 * removes the limit. */
int btrfs_group_limit(int fd, uint64_t group, uint64_t kind, uint64_t bytes);

/* Put a quota group below another group, or take it out. With simple quotas, the kernel does not
 * count the usage again. */
int btrfs_group_join(int fd, uint64_t group, uint64_t parent);
int btrfs_group_leave(int fd, uint64_t group, uint64_t parent);

/* Create or destroy a group without a subvolume. A group that is in use cannot be destroyed. */
int btrfs_group_make(int fd, uint64_t group);
int btrfs_group_destroy(int fd, uint64_t group);

/* Copy a subvolume to a new path, without the subvolumes inside. The copy is writable, or
 * sealed. */
int btrfs_subvolume_copy(const char *from, const char *to);
int btrfs_subvolume_copy_sealed(const char *from, const char *to);
/* Delete a subvolume, which has no other subvolumes inside. */
int btrfs_subvolume_delete(const char *path);

/* Return 1 if a subvolume is sealed (read-only), 0 if it is writable. -1 with errno: the path is
 * not a subvolume. */
int btrfs_subvolume_is_sealed(const char *path);
/* Make a sealed subvolume writable, or seal a writable one. The subvolume keeps the note of its
 * `btrfs receive`. */
int btrfs_subvolume_unseal(const char *path);
int btrfs_subvolume_seal(const char *path);

struct btrfs_subvolume {
    uint64_t id;
    unsigned char uuid[BTRFS_UUID_BYTES];
    unsigned char parent_uuid[BTRFS_UUID_BYTES]; /* the source of the copy; zeros: not a copy */
    bool sealed;
    bool received; /* created by `btrfs receive`, and not a copy of such a subvolume */
    /* Transactions of the file system: of the creation, and of the last change inside. */
    uint64_t made_in, changed_in;
};

/* Read the properties of a subvolume. */
int btrfs_subvolume_look(const char *path, struct btrfs_subvolume *subvolume);

/* Note that an unsealed subvolume was received from a subvolume with this id. */
int btrfs_subvolume_set_received(const char *path, const unsigned char uuid[BTRFS_UUID_BYTES]);

/* Write a sealed subvolume to a file, as a stream of this version. parent: another sealed subvolume
 * that the receiver has, or NULL. With a parent, the stream has the differences only. */
int btrfs_subvolume_send(const char *path, const char *parent, int out, uint32_t version);

/* Return 1 if a subvolume with this id exists and is not being deleted, else 0; -1 with errno. Ids
 * of the file system itself (below 256): 1. fd: any open file of the file system. */
int btrfs_subvolume_exists(int fd, uint64_t id);

/* Return 1 if other subvolumes are inside a subvolume, else 0; -1 with errno. */
int btrfs_subvolume_has_others(const char *path);
