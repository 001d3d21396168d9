/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the real btrfs. */
#pragma once

/* Remove from PATH the folders in which btrfs is this program. Returns 0, or -1, with a message,
 * when a wrapper has done so already: then PATH has no other btrfs. */
int real_btrfs_prepare(void);
