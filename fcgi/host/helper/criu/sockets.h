/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edit the TCP connections of a memory image from which another sandbox is made. */
#pragma once

#include <stddef.h>

/* Let CRIU restore only connections with a loopback address at both ends. Others belong to the
 * original sandbox: a process of the copy finds a socket that is not connected. The sizes of files
 * do not change, and the change can be repeated. Returns 0, or -1, with nothing changed, when
 * files.img cannot be read or changed, or has an unknown form. */
int sockets_keep_loopback(const char *folder);

/* Do the same in the bytes of files.img. */
int sockets_edit(unsigned char *data, size_t size);
