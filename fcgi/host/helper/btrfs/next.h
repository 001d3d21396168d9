/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The btrfs behind this one. */
#pragma once

/* Take the folders in which btrfs is this program out of PATH. Returns 0, or -1, with a message,
 * when that was done before: there is no other btrfs. */
int next_prepare(void);
