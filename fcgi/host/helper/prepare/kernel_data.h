/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CRIU keeps what it has found out of the kernel in /run/criu.kdat where that is a tmpfs, which
 * ends with the kernel. On another file system it asks again at each dump and restore, for up to
 * some tenths of a second on a busy machine: there a file in a tmpfs of its own takes that place.
 */
#pragma once

/* Does nothing where /run is a tmpfs. Failures are no more than the time. */
void kernel_data_keep(void);
