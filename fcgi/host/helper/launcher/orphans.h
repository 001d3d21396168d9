/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delete the remains of deleted instances and killed starts. An instance leaves a folder in Incus'
 * run and logs folders, and a link to a quota group. A killed start leaves control groups. */
#pragma once

#include "helper/launcher/container_config.h"

/* Delete the remains of instances that no longer exist, at most once a minute. config: of any
 * container of the same incusd. A background process does the work; errors leave the rest to the
 * next time. */
void orphans_remove(const struct container_config *config, const char *containers);

/* Delete the control groups of a container whose monitor was killed. Their names are `name` and, in
 * other hierarchies, a number. Groups that are not empty stay. */
void orphans_remove_groups(const char *name);

/* Delete folders below `parent` that are older than a minute and belong to no instance. Instances
 * are in `containers`, and in the folder of virtual machines next to it. Returns the number of
 * deleted folders. */
unsigned orphans_remove_in(const char *parent, const char *containers);
