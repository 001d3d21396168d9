/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Volume servers: one instance on each host serves the files of its volumes. */
#pragma once

#include "volume/volume.h"

#define KEEPER_NAME_SIZE 64

struct keeper {
    uint32_t host_id;
    char instance_name[KEEPER_NAME_SIZE]; /* "": none */
    uint32_t address;                     /* IPv4, host byte order */
    uint16_t secret_key_id;
};

/* Read the volume server of a host; instance_name is "" when it has none. */
int keeper_get(struct db *db, uint32_t host_id, struct keeper *keeper, struct error **err);

/* Record the volume server of a host, or delete the record of an instance. */
int keeper_put(struct db *db, const struct keeper *keeper, struct error **err);
int keeper_delete(struct db *db, const char *instance_name, struct error **err);

/* --- volumes and their use by a volume server --- */

/* Inside a transaction: lock the volume and read it again, and check that its files may be changed.
 * Then record that this process of the volume server changes them. Errors: ERR_NOT_FOUND,
 * ERR_VOLUME_ATTACHED, ERR_RUNTIME_UNAVAILABLE (the volume has moved to another host). */
int volume_files_admit(struct db *db, const char *epoch, struct volume *volume, struct error **err);

/* Record that the files of the volume are used, at most once a minute. */
int volume_files_used(struct db *db, const struct volume *volume, struct error **err);

/* List the volumes of a sandbox whose generation the volume server must still get. The caller
 * frees. */
struct volume_fence {
    char volume_id[ID_SIZE];
    uint32_t host_id;
    uint64_t generation;
};
int volume_fences(struct db *db, const char *sandbox_id, struct volume_fence **fences,
                  unsigned *count, struct error **err);

/* Record that the volume server has the generation, or is gone. */
int volume_fence_done(struct db *db, const struct volume_fence *fence, struct error **err);

/* Find a volume on a host whose files were used, but not since since_ms; "" for none. */
int volume_files_idle(struct db *db, uint32_t host_id, int64_t since_ms, char id[ID_SIZE],
                      struct error **err);
/* Record that the volume is no longer mounted in the volume server. */
int volume_files_forget(struct db *db, const char *id, int64_t since_ms, struct error **err);
