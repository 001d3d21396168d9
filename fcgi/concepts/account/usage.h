/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Usage intervals: what a bill is made of. From the moment that a create is done to the moment that
 * a delete begins, each sandbox has exactly one open interval: runtime (its vCPUs and memory as
 * they were asked for) from when it is ready to when it has stopped, storage (its disk) from there
 * to when it is ready again. They are opened and closed in the transactions of the moves, so they
 * meet without a gap and never overlap, whoever crashes.
 */
#pragma once

#include "db/db.h"
#include "runtime/runtime.h"

enum usage_kind { USAGE_RUNTIME, USAGE_STORAGE, USAGE_NONE, USAGE_UNCHANGED };

/* Inside the transaction that ends its create: the first interval of a sandbox, which runs. */
struct usage_begin {
    const char *sandbox_id, *team_id;
    uint32_t incarnation;
    const struct runtime_resources *resources;
    int64_t at_ms;
};
int usage_begin(struct db *db, const struct usage_begin *begin, struct error **err);

/* Inside the transaction that has written the sandbox's new state, at_ms: let its open interval be
 * of this kind from now on. USAGE_NONE: there is none any more. USAGE_UNCHANGED: nothing to do. */
int usage_follow(struct db *db, const char *sandbox_id, enum usage_kind kind, int64_t at_ms,
                 struct error **err);

/* The time that sandboxes of one size have taken together. */
struct usage {
    enum usage_kind kind;
    struct runtime_resources resources;
    uint64_t sandboxes; /* how many different ones */
    uint64_t total_ms;
};

/* What a team has used from from_ms to to_ms, which is not in the future; one row for each kind and
 * size. The caller frees. */
int usage_read(struct db *db, const char *team_id, int64_t from_ms, int64_t to_ms,
               struct usage **rows, size_t *count, struct error **err);
