/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Volumes in sandboxes: the mount points, and the record of which sandbox mounts which volume. */
#pragma once

#include <jansson.h>

#include "volume/volume.h"

#define VOLUME_MOUNTS_MAX     16 /* in one sandbox */
#define VOLUME_MOUNT_PATH_MAX 1024

struct volume_mount {
    const char *path;        /* in the sandbox; borrowed */
    const char *name;        /* of the volume; borrowed */
    bool is_build_cache;     /* the name is VOLUME_BUILD_CACHE, and not from a request */
    char volume_id[ID_SIZE]; /* set by volume_mounts_lock() and volume_mounts_find() */
};

/* Read {path: name} into mounts, ordered by path. The strings are borrowed from the object. Errors:
 * ERR_INVALID_REQUEST with the pointer of the member below /volume_mounts. */
int volume_mounts_read(const json_t *object, struct volume_mount mounts[VOLUME_MOUNTS_MAX],
                       unsigned *count, struct error **err);

/* Inside a transaction that begins a sandbox with these volumes: find and lock them, and begin a
 * new generation of each. Changes of their files that were allowed before then end, after the
 * fences of volume_fences() are raised. *host_id: the host of the volumes. Errors:
 * ERR_VOLUME_NOT_FOUND, ERR_INVALID_REQUEST (two hosts), with the pointer. */
int volume_mounts_lock(struct db *db, const char *team_id, struct volume_mount *mounts,
                       unsigned count, uint32_t *host_id, struct error **err);

/* In the same transaction, after the sandbox's row is written: record its volumes. */
int volume_mounts_attach(struct db *db, const char *team_id, const char *sandbox_id,
                         const struct volume_mount *mounts, unsigned count, struct error **err);

/* Find the places of the volumes with these names, outside a transaction. *count 0: at least one
 * name has no volume. */
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

/* Lock the volumes of a sandbox that starts again, as volume_mounts_lock() does. */
int volume_mounts_lock_again(struct db *db, const char *sandbox_id, struct error **err);

/* Inside the transaction that writes the end of a sandbox: delete the record of its volumes. */
int volume_mounts_detach(struct db *db, const char *sandbox_id, struct error **err);

/* Inside a transaction that holds the volume's lock: check whether a sandbox that may run has the
 * volume. */
int volume_is_live(struct db *db, const struct volume *volume, bool *live, struct error **err);
