/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a container sees of the quota groups of its host's pool: its own. */
#pragma once

#include "helper/launcher/container_config.h"

/* Point the link that the configuration mounts there (base/disk_view.h; nothing is done where it
 * mounts none) to the quota group of the container's disk, or to an empty directory when that is on
 * no btrfs with quotas. Errors: ERR_CONFIG. */
int disk_view_prepare(const struct container_config *config, struct error **err);

/* Remove the links whose group has gone. */
void disk_view_sweep(void);
