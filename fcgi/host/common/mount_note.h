/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Note the volumes that sandlot-limits has mounted in a running instance without Incus.
 *
 * sandlot-limits mounts the volumes when a warm instance is assigned, and writes the note. When
 * incusd attaches a volume, it calls incusd-exec to mount it. incusd-exec skips the mount when the
 * note names it. The guest cannot change the note, but it can change the mounts inside.
 *
 * A note holds for one run of the instance. It is written when all volumes are mounted. It is
 * deleted when one is unmounted or the run ends. A reboot keeps it, because the next run must have
 * the volumes.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

#define MOUNT_NOTES "/run/sandlot-mounts"

struct mount_noted {
    struct stat volume; /* the root directory of the volume */
    const char *path;   /* in the instance; without line feeds */
};

/* Write the note of an instance. folder: MOUNT_NOTES; created if it is missing. Errors:
 * ERR_CONFIG. */
int mount_note_write(const char *folder, const char *instance, const struct mount_noted *mounts,
                     unsigned count, struct error **err);

/* Read the note of an instance; the caller frees it. NULL: there is no note. name: INSTANCE or
 * PROJECT_INSTANCE. */
char *mount_note_read(const char *folder, const char *name);

/* Return whether a note says that this volume is mounted at this path. */
bool mount_note_has(const char *note, const struct stat *volume, const char *path);

/* Return the next path in a note, and move *note behind it; the caller frees the path. NULL: there
 * are no more. */
char *mount_note_next(const char **note);

void mount_note_remove(const char *folder, const char *name);
