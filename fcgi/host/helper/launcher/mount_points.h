/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The places in a root file system that a start mounts something on. liblxc opens them, and root of
 * the sandbox that wrote the disk chose what they are: the open of a named pipe waits for ever.
 */
#pragma once

#include "base/error.h"
#include "helper/launcher/container_config.h"

/* Look at each of them without following a link. What is not there yet is liblxc's to make. Errors:
 * ERR_INVALID_REQUEST: one is no directory, or is behind a link or a file; the message names it.
 * ERR_CONFIG: the root file system cannot be looked at. */
int mount_points_check(const struct container_config *config, struct error **err);

/* The same for a directory that something is about to be mounted on while the container runs. */
int mount_point_check(const struct container_config *config, const char *path, struct error **err);
