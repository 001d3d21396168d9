/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Give a restored container its memory while it runs already.
 *
 * CRIU restores all but the memory. A process that touches a missing page waits (userfaultfd), and
 * the page server copies this page at once. Meanwhile it copies all others.
 *
 * If the server dies, a guard kills the container before the kernel would fill missing pages with
 * zeros. Both processes share their open files, so the kernel keeps the page faults waiting. The
 * container then starts from its disk.
 */
#pragma once

#include "helper/criu/call.h"

/* In incusd's environment: "no", or the path of a file that switches this off while it exists. */
#define PAGES_SETTING "SANDLOT_LAZY_PAGES"
/* For sandlot-criu.so: descriptors of /dev/userfaultfd and of the socket to the server. */
#define PAGES_ENVIRONMENT "SANDLOT_PAGES"
/* A descriptor that CRIU and the container do not use. */
#define PAGES_DEVICE_FD 1019
#define PAGES_SOCKET_FD 1018

/* Prepare a restore whose memory comes later, and leave its server and guard. container: its name.
 * loss: the file to write if the memory cannot be completed (base/memory_loss.h), or NULL. Does
 * nothing when the host or the image does not allow this; CRIU then reads all memory first. */
void page_server_begin(struct call *call, const char *container, const char *loss);

/* Return how much memory a container got from its server or gets yet, or 0 without a server. */
unsigned page_server_mib(const char *container);

/* Wait until a container has all its memory. Returns 0, or -1 after limit_s. */
int page_server_await(const char *container, unsigned limit_s);
