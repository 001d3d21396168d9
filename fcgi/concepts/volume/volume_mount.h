/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Volumes in sandboxes: where they may be mounted, and who has mounted what. */
#pragma once

#include <jansson.h>

#include "volume/volume.h"

#define VOLUME_MOUNTS_MAX     16 /* in one sandbox */
#define VOLUME_MOUNT_PATH_MAX 1024

struct volume_mount {
    const char *path;        /* in the sandbox; borrowed */
    const char *name;        /* of the volume; borrowed */
    char volume_id[ID_SIZE]; /* set by volume_mounts_lock() */
};

/* Read {path: name} into mounts, ordered by path. The strings are borrowed from the object. Errors:
 * ERR_INVALID_REQUEST with the pointer of the member below /volume_mounts. */
int volume_mounts_read(const json_t *object, struct volume_mount mounts[VOLUME_MOUNTS_MAX],
                       unsigned *count, struct error **err);

/* Inside a transaction that begins or restarts a sandbox with these volumes: find and lock them,
 * and begin a new generation of each, so that no change of their files that was allowed before is
 * made from now on (what is left to do for that: volume_mounts_fences()). *host_id: where they
 * are. Errors: ERR_VOLUME_NOT_FOUND, ERR_INVALID_REQUEST (two hosts), with the pointer. */
int volume_mounts_lock(struct db *db, const char *team_id, struct volume_mount *mounts,
                       unsigned count, uint32_t *host_id, struct error **err);

/* Then, once the sandbox has its row: note that it has them. */
int volume_mounts_attach(struct db *db, const char *team_id, const char *sandbox_id,
                         const struct volume_mount *mounts, unsigned count, struct error **err);

/* Where the volumes of these names are, outside a transaction; *count 0: there is not one of each.
 */
struct volume_place {
    char id[ID_SIZE];
    uint32_t host_id, size_gb;
};
int volume_mounts_places(struct db *db, const char *team_id, const struct volume_mount *mounts,
                         unsigned mount_count, struct volume_place places[VOLUME_MOUNTS_MAX],
                         unsigned *count, struct error **err);

/* Find the volumes that a sandbox has under these names, outside a transaction. Errors:
 * ERR_VOLUME_NOT_FOUND. */
int volume_mounts_find(struct db *db, const char *sandbox_id, struct volume_mount *mounts,
                       unsigned count, struct error **err);

/* As volume_mounts_lock(), for a sandbox that has them and starts again. */
int volume_mounts_lock_again(struct db *db, const char *sandbox_id, struct error **err);

/* Inside the transaction that writes the end of a sandbox. */
int volume_mounts_detach(struct db *db, const char *sandbox_id, struct error **err);

/* Inside a transaction that holds the volume's lock: whether a sandbox that may run has it. */
int volume_is_live(struct db *db, const struct volume *volume, bool *live, struct error **err);
