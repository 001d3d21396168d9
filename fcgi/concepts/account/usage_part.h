/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a team has used, in parts: by day (UTC), or by what used it. */
#pragma once

#include "base/ulid.h"
#include "db/db.h"

#define USAGE_DAYS_MAX  100  /* that a span by day may have */
#define USAGE_PARTS_MAX 1000 /* sandboxes, checkpoints and volumes of a span, the largest first */

struct usage_part {
    int64_t day_ms;   /* its midnight; by what used it: 0 */
    char id[ID_SIZE]; /* of a sandbox, checkpoint or volume; by day: "" */
    uint64_t runtime_ms;
    double vcpu_ms, memory_mb_ms, storage_mb_ms;
};

/* From from_ms to to_ms, which is not in the future and at most USAGE_DAYS_MAX days later; a part
 * for each day in which something was used. The caller frees. */
int usage_read_days(struct db *db, const char *team_id, int64_t from_ms, int64_t to_ms,
                    struct usage_part **parts, size_t *count, struct error **err);

/* The same by what used it: at most USAGE_PARTS_MAX. */
int usage_read_sources(struct db *db, const char *team_id, int64_t from_ms, int64_t to_ms,
                       struct usage_part **parts, size_t *count, struct error **err);

/* Times in which a sandbox of the team ran, as far as they touch that span, by their beginnings; at
 * most USAGE_RUNS_MAX. One that goes on ends at to_ms. The caller frees. */
#define USAGE_RUNS_MAX 20000
struct usage_run {
    int64_t started_at_ms, ended_at_ms;
};
int usage_read_runs(struct db *db, const char *team_id, int64_t from_ms, int64_t to_ms,
                    struct usage_run **runs, size_t *count, struct error **err);
