/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The few things that are asked of btrfs itself. Where nothing else is said they return 0, or -1
 * with errno. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BTRFS_UUID_TEXT_SIZE 37
#define BTRFS_UUID_BYTES     16
#define BTRFS_SYSFS          "/sys/fs/btrfs/"

/* Quota groups as the pool guard has them (helper/guard/pool.h): 1/0 of all guests, which is all
 * but full with less room than this, and 1/1 of memory images. sysfs has them by the names. */
#define BTRFS_GUESTS      (UINT64_C(1) << 48)
#define BTRFS_GUESTS_NAME "1_0"
#define BTRFS_GUESTS_ROOM (UINT64_C(512) << 20)
#define BTRFS_IMAGES      (UINT64_C(1) << 48 | 1)
#define BTRFS_IMAGES_NAME "1_1"
/* Of groups of level 0, which are those of subvolumes. */
#define BTRFS_SUBVOLUME_MAX ((UINT64_C(1) << 48) - 1)

/* The place where the file system that holds a path is mounted; the caller frees it. NULL: the path
 * is not there. */
char *btrfs_top_of(const char *path);

/* The id of the file system that an open file lies in, as sysfs names it; fails when it is no
 * btrfs. */
int btrfs_uuid_of(int fd, char text[BTRFS_UUID_TEXT_SIZE]);

/* Where sysfs tells of the quota groups of that file system; the caller frees it. NULL: it is no
 * btrfs. */
char *btrfs_groups_of(int fd);

/* What sysfs calls the quota group of a subvolume: "0_257". */
#define BTRFS_GROUP_NAME_SIZE 32
void btrfs_group_name(uint64_t subvolume, char name[BTRFS_GROUP_NAME_SIZE]);

/* A number of a quota group in such a folder. No such group, or no such number: 0. */
uint64_t btrfs_group_read(const char *groups, const char *group, const char *file);

/* How much a quota group may hold: fd is of any place in the file system, and the subvolume of that
 * is charged with the change. kind: BTRFS_QGROUP_LIMIT_MAX_RFER or BTRFS_QGROUP_LIMIT_MAX_EXCL;
 * bytes: UINT64_MAX lifts the limit. */
int btrfs_group_limit(int fd, uint64_t group, uint64_t kind, uint64_t bytes);

/* Put a quota group below another one, or take it out. With simple quotas nothing is counted again.
 */
int btrfs_group_join(int fd, uint64_t group, uint64_t parent);
int btrfs_group_leave(int fd, uint64_t group, uint64_t parent);

/* A group without subvolume. One that is in use cannot be destroyed. */
int btrfs_group_make(int fd, uint64_t group);
int btrfs_group_destroy(int fd, uint64_t group);

/* A copy of a subvolume, without those in it, at a path where nothing is: one that can be written
 * to, or a sealed one. */
int btrfs_subvolume_copy(const char *from, const char *to);
int btrfs_subvolume_copy_sealed(const char *from, const char *to);
int btrfs_subvolume_delete(const char *path);

/* Whether nobody can write to a subvolume; -1 with errno: it is none. */
int btrfs_subvolume_is_sealed(const char *path);
/* From now on it can be written to. What it was received from stays known. */
int btrfs_subvolume_unseal(const char *path);
int btrfs_subvolume_seal(const char *path);

struct btrfs_subvolume {
    uint64_t id;
    unsigned char uuid[BTRFS_UUID_BYTES];
    unsigned char parent_uuid[BTRFS_UUID_BYTES]; /* what it was copied from; zeros: nothing */
    bool sealed;
    bool received; /* it came by `btrfs receive`, and is not a copy of what did */
    /* Transactions of the file system: in which it was made, and what is in it was last changed. */
    uint64_t made_in, changed_in;
};

int btrfs_subvolume_look(const char *path, struct btrfs_subvolume *subvolume);

/* Of one that is not sealed: note that it was received from a subvolume with this id. */
int btrfs_subvolume_set_received(const char *path, const unsigned char uuid[BTRFS_UUID_BYTES]);

/* Write a sealed one to a file, as a stream of that version. parent: what the receiver has, another
 * sealed one, in comparison with which it is written; NULL: it has nothing. */
int btrfs_subvolume_send(const char *path, const char *parent, int out, uint32_t version);

/* Whether the file system has a subvolume of that id, which is not being deleted; -1 with errno. fd
 * is of any place in it. */
int btrfs_subvolume_exists(int fd, uint64_t id);

/* Whether other subvolumes are in it; -1 with errno. */
int btrfs_subvolume_has_others(const char *path);
