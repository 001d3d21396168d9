/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the agent reads the free space of its sandbox's disk. On btrfs, statfs() describes the whole
 * storage pool, which all sandboxes share. The limit of one sandbox is the quota group of its
 * subvolume. The kernel shows all quota groups in one directory of sysfs. Therefore at each start
 * the host mounts the sandbox's own group over that directory (incusd-exec). On another file system
 * it mounts an empty directory.
 */
#pragma once

/* Where it is mounted, below the root of the sandbox. */
#define DISK_VIEW_TARGET "sys/fs/btrfs"

/* On the host: a link for each instance, by its name, to the mounted directory. */
#define DISK_VIEW_LINKS "/run/sandlot-disks"
