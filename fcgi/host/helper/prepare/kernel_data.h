/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keep CRIU's data about the kernel in a tmpfs.
 *
 * CRIU stores the data in /run/criu.kdat if /run is a tmpfs, because it must not outlive the
 * kernel. On another file system, CRIU collects the data again at each dump and restore. This takes
 * up to some tenths of a second on a busy machine. A file in a small tmpfs is therefore mounted at
 * that place.
 */
#pragma once

/* Mount the file. Does nothing if /run is a tmpfs. A failure costs only time. */
void kernel_data_keep(void);
