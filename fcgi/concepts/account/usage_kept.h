/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Usage intervals of what is kept beside sandboxes: checkpoints and volumes. */
#pragma once

#include <stdint.h>

#include "db/db.h"

/* Inside the transaction that makes a checkpoint or a volume usable, or no more: its storage counts
 * from here, a checkpoint's by what it keeps and a volume's by its size, or to here. */
enum usage_kept { USAGE_CHECKPOINT, USAGE_VOLUME };
int usage_checkpoint_begin(struct db *db, const char *checkpoint_id, const char *team_id,
                           uint32_t size_mb, struct error **err);
int usage_volume_begin(struct db *db, const char *volume_id, const char *team_id, uint32_t size_gb,
                       struct error **err);
int usage_kept_end(struct db *db, const char *id, struct error **err);

/* What the checkpoints, or the volumes, of a team have kept from from_ms to to_ms, which is not in
 * the future. */
struct usage_total {
    uint64_t count;    /* how many different ones */
    uint64_t total_ms; /* of all together */
    double mb_ms;      /* MiB times milliseconds */
};
int usage_read_kept(struct db *db, const char *team_id, enum usage_kept kind, int64_t from_ms,
                    int64_t to_ms, struct usage_total *usage, struct error **err);
