/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which volumes an instance that runs was given without Incus. sandlot-limits mounts them when a
 * waiting instance is handed over, and leaves a note. When incusd is told of them, it calls
 * incusd-exec to mount each one: where there is a note of it that has been done. Without this
 * note, which the guest cannot touch, one would have to look into the guest's mounts, which it can
 * change.
 *
 * The note is of one run of the instance. It is written when all of them are mounted, and goes when
 * one is taken away or the run ends. A reboot keeps it: the next run is not to begin without them.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

#define MOUNT_NOTES "/run/sandlot-mounts"

struct mount_noted {
    struct stat volume; /* of its root directory */
    const char *path;   /* in the instance; no line feed in it */
};

/* folder: MOUNT_NOTES, made if it is not there. Errors: ERR_CONFIG. */
int mount_note_write(const char *folder, const char *instance, const struct mount_noted *mounts,
                     unsigned count, struct error **err);

/* NULL: there is none. The caller frees it. The name is the instance's or, in front of it, has its
 * project's and an underscore. */
char *mount_note_read(const char *folder, const char *name);

/* Whether a note says that this volume is mounted there. */
bool mount_note_has(const char *note, const struct stat *volume, const char *path);

/* The next place that a note names. *note is moved on; NULL: that was the last one. The caller
 * frees it. */
char *mount_note_next(const char **note);

void mount_note_remove(const char *folder, const char *name);
