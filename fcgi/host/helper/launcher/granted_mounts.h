/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handle volumes that sandlot-limits mounted before incusd attached them (common/mount_note.h). */
#pragma once

#include "helper/launcher/container_config.h"

/* Return the name of the container of a process, PROJECT_INSTANCE; the caller frees it. NULL: it is
 * in none. */
char *granted_mounts_container(const char *pid);

/* Return whether incusd's volume at source is already mounted in the container at target, an
 * absolute path. */
bool granted_mounts_has(const char *notes, const char *container, const char *source,
                        const char *target);

/* Delete the note before a start, when incusd's configuration mounts all its volumes. Errors:
 * ERR_RUNTIME_REFUSED: incusd has not attached a volume yet, because the container rebooted right
 * after its assignment. */
int granted_mounts_settle(const char *notes, const char *container,
                          const struct container_config *config, struct error **err);
