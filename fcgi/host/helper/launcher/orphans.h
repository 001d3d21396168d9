/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is left of instances that were deleted: a folder each in Incus' run and logs folders, and
 * the link to a quota group; of a start that was killed: control groups. */
#pragma once

#include "helper/launcher/container_config.h"

/* Remove those of instances that are not there any more, unless it was done within the last minute.
 * config: of any container of that daemon. It goes on in a process of its own, and errors leave the
 * rest to the next time. */
void orphans_remove(const struct container_config *config, const char *containers);

/* The control groups of a container whose monitor was killed: name and, in other hierarchies, a
 * number. Those that are not empty stay. */
void orphans_remove_groups(const char *name);

/* The folders below `parent` that are older than a minute and of which neither `containers` nor
 * the folder of virtual machines beside it has an instance are removed. Returns how many. */
unsigned orphans_remove_in(const char *parent, const char *containers);
