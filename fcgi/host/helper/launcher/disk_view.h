/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Show a container its own quota group in the host's pool, and no others. */
#pragma once

#include "helper/launcher/container_config.h"

/* Point the link that the configuration mounts (base/disk_view.h) to the quota group of the
 * container's disk. Without btrfs or quotas, it points to an empty folder. Without the mount,
 * nothing is done. Errors: ERR_CONFIG. */
int disk_view_prepare(const struct container_config *config, struct error **err);

/* Delete the links whose groups no longer exist. */
void disk_view_sweep(void);
