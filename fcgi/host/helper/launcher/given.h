/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Volumes that a container was given before incusd was told of them (base/mount_note.h). */
#pragma once

#include "helper/launcher/container_config.h"

/* Whether what incusd has mounted at source is mounted at target, an absolute path, in the
 * container already. */
bool given_has(const char *notes, const char *container, const char *source, const char *target);

/* Before a start: with incusd's configuration all that it was given is mounted, and the note of
 * that goes. Errors: ERR_RUNTIME_REFUSED: incusd was not told yet, as the container rebooted right
 * after its hand-over. */
int given_settle(const char *notes, const char *container, const struct container_config *config,
                 struct error **err);
