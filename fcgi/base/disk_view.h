/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the agent learns what is left of its sandbox's disk. On btrfs statfs() tells about the whole
 * pool that all sandboxes share; the limit of one is the quota group of its subvolume, which the
 * kernel shows in a directory of sysfs beside those of all others. At each start the host mounts
 * the sandbox's own group over what the kernel would show it of all (incusd-exec); on another
 * file system an empty directory.
 */
#pragma once

/* Where it is mounted, below the root of the sandbox. */
#define DISK_VIEW_TARGET "sys/fs/btrfs"

/* On the host: a link for each instance, by its name, to what is mounted. */
#define DISK_VIEW_LINKS "/run/sandlot-disks"
