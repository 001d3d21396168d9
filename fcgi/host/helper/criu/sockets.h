/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The TCP connections of a memory image from which another sandbox is made. */
#pragma once

#include <stddef.h>

/* Let CRIU restore only the connections whose both ends have an address of the loopback interface.
 * The other ones belong to the original sandbox: a process of the copy finds a socket that is not
 * connected. Sizes of files stay as they are, and the change can be repeated. Returns 0, or -1 when
 * files.img cannot be read or changed, or has a form that is not known; then nothing is changed. */
int sockets_keep_loopback(const char *folder);

/* The same with the bytes of files.img. */
int sockets_edit(unsigned char *data, size_t size);
