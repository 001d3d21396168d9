/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Usage intervals of checkpoints and volumes. */
#pragma once

#include <stdint.h>

#include "db/db.h"

/* Open or end the storage interval. Call it inside the transaction that makes a checkpoint or a
 * volume usable, or unusable. A checkpoint counts with its content, a volume with its size. */
enum usage_kept { USAGE_CHECKPOINT, USAGE_VOLUME };
int usage_checkpoint_begin(struct db *db, const char *checkpoint_id, const char *team_id,
                           uint32_t size_mb, struct error **err);
int usage_volume_begin(struct db *db, const char *volume_id, const char *team_id, uint32_t size_gb,
                       struct error **err);
int usage_kept_end(struct db *db, const char *id, struct error **err);

/* The storage of a team's checkpoints, or volumes, from from_ms to to_ms, which is not in the
 * future. */
struct usage_total {
    uint64_t count;    /* the number of different ones */
    uint64_t total_ms; /* the sum over all */
    double mb_ms;      /* MiB times milliseconds */
};
int usage_read_kept(struct db *db, const char *team_id, enum usage_kept kind, int64_t from_ms,
                    int64_t to_ms, struct usage_total *usage, struct error **err);
