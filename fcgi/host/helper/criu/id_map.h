/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user ids of a container that is restored. Each sandbox has a range of ids of its own on the
 * host. Disks have the ids inside, and liblxc gives CRIU the disk as it is. An image has the range
 * of the container that was dumped.
 */
#pragma once

#include "helper/criu/call.h"

/* Mount the disk and the image so that their files belong to the container of the configuration,
 * and give CRIU its range. Only the mount namespace of this process changes. config: the path;
 * NULL: change nothing. Returns 0, or -1 after a message on standard error. */
int id_map_prepare(struct call *call, const char *config);
