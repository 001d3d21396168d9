/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Usage intervals, the basis of a bill. Each sandbox has exactly one open interval between the end
 * of its create and the start of its delete. While it runs, this is a runtime interval (vCPUs and
 * memory as requested); while it is stopped, a storage interval (its disk).
 *
 * The transactions that change the sandbox's state also open and close the intervals. So the
 * intervals meet without a gap and never overlap, also after a crash or when the clock was set
 * back.
 */
#pragma once

#include "db/db.h"
#include "runtime/runtime.h"

enum usage_kind { USAGE_RUNTIME, USAGE_STORAGE, USAGE_NONE, USAGE_UNCHANGED };

/* Open the first interval of a sandbox, which runs. Call it inside the transaction that ends the
 * create. */
struct usage_begin {
    const char *sandbox_id, *team_id;
    uint32_t incarnation;
    const struct runtime_resources *resources;
    int64_t at_ms;
};
int usage_begin(struct db *db, const struct usage_begin *begin, struct error **err);

/* Change the kind of the open interval at at_ms. Call it inside the transaction that has written
 * the sandbox's new state. USAGE_NONE: end the interval. USAGE_UNCHANGED: do nothing. */
int usage_follow(struct db *db, const char *sandbox_id, enum usage_kind kind, int64_t at_ms,
                 struct error **err);

/* The total time of sandboxes of one size. */
struct usage {
    enum usage_kind kind;
    struct runtime_resources resources;
    uint64_t sandboxes; /* the number of different sandboxes */
    uint64_t total_ms;
};

/* Read a team's usage from from_ms to to_ms, which is not in the future: one row for each kind and
 * size. The caller frees the array. */
int usage_read(struct db *db, const char *team_id, int64_t from_ms, int64_t to_ms,
               struct usage **rows, size_t *count, struct error **err);
