/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The usage of a team in parts: by day (UTC), or by sandbox, checkpoint and volume. */
#pragma once

#include "base/ulid.h"
#include "db/db.h"
#include "naming/naming.h"

#define USAGE_DAYS_MAX  100  /* the longest span by day */
#define USAGE_PARTS_MAX 1000 /* the most parts of a span by object; the largest are kept */

struct usage_part {
    int64_t day_ms;             /* its midnight (UTC); by object: 0 */
    char id[ID_SIZE];           /* of a sandbox, checkpoint or volume; by day: "" */
    char name[THING_NAME_SIZE]; /* its present one, or "" */
    uint64_t runtime_ms;
    double vcpu_ms, memory_mb_ms, storage_mb_ms;
};

/* Read the usage by day from from_ms to to_ms, which is not in the future and at most
 * USAGE_DAYS_MAX days later. Days without usage have no part. The caller frees the array. */
int usage_read_days(struct db *db, const char *team_id, int64_t from_ms, int64_t to_ms,
                    struct usage_part **parts, size_t *count, struct error **err);

/* Read the usage by sandbox, checkpoint and volume: at most USAGE_PARTS_MAX parts. */
int usage_read_sources(struct db *db, const char *team_id, int64_t from_ms, int64_t to_ms,
                       struct usage_part **parts, size_t *count, struct error **err);

/* Read the times in which a sandbox of the team ran and that touch the span, by their starts: at
 * most USAGE_RUNS_MAX. A run that continues ends at to_ms. The caller frees the array. */
#define USAGE_RUNS_MAX 20000
struct usage_run {
    int64_t started_at_ms, ended_at_ms;
};
int usage_read_runs(struct db *db, const char *team_id, int64_t from_ms, int64_t to_ms,
                    struct usage_run **runs, size_t *count, struct error **err);
