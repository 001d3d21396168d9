/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check the places of a root file system that a start mounts on.
 *
 * liblxc opens them. Root in the sandbox wrote the disk, and can put anything there: the open of a
 * named pipe would block forever.
 */
#pragma once

#include "base/error.h"
#include "helper/launcher/container_config.h"

/* Check each place without following links. liblxc creates missing places. Errors:
 * ERR_INVALID_REQUEST: a place is not a directory, or is behind a link or a file; the message names
 * it. ERR_CONFIG: the root file system cannot be read. */
int mount_points_check(const struct container_config *config, struct error **err);

/* Check a directory before a mount in a running container, with the same errors. */
int mount_point_check(const struct container_config *config, const char *path, struct error **err);
