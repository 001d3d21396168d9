/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keepers: one instance a host, through which the files of its volumes are reached. */
#pragma once

#include "volume/volume.h"

#define KEEPER_NAME_SIZE 64

struct keeper {
    uint32_t host_id;
    char instance_name[KEEPER_NAME_SIZE]; /* "": there is none */
    uint32_t address;                     /* IPv4, host byte order */
    uint16_t secret_key_id;
};

/* The keeper of a host, instance_name "" when it has none. */
int keeper_get(struct db *db, uint32_t host_id, struct keeper *keeper, struct error **err);

/* Record the volume server of a host, or forget one by its instance. */
int keeper_put(struct db *db, const struct keeper *keeper, struct error **err);
int keeper_delete(struct db *db, const char *instance_name, struct error **err);

/* --- volumes, as far as their files are reached through a keeper --- */

/* Inside a transaction: lock the volume and check that its files may be changed; that they are by
 * this process of the keeper is noted. volume is read again. Errors: ERR_NOT_FOUND,
 * ERR_VOLUME_ATTACHED. */
int volume_files_admit(struct db *db, const char *epoch, struct volume *volume, struct error **err);

/* Note that the files of the volume are used, at most once a minute. */
int volume_files_used(struct db *db, const struct volume *volume, struct error **err);

/* The volumes of a sandbox whose keeper must be told of their generation. The caller frees. */
struct volume_fence {
    char volume_id[ID_SIZE];
    uint32_t host_id;
    uint64_t generation;
};
int volume_fences(struct db *db, const char *sandbox_id, struct volume_fence **fences,
                  unsigned *count, struct error **err);

/* The keeper was told, or is gone. */
int volume_fence_done(struct db *db, const struct volume_fence *fence, struct error **err);

/* Of these volumes of a keeper, one whose files nobody has used since a time; "" for none. */
int volume_files_idle(struct db *db, uint32_t host_id, int64_t since_ms, char id[ID_SIZE],
                      struct error **err);
/* It is out of the keeper. */
int volume_files_forget(struct db *db, const char *id, int64_t since_ms, struct error **err);
