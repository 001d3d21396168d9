/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtime quota of a team: counters in its row. The statement that takes quota refuses an
 * amount beyond the plan. Sandboxes take and return quota through reservation.h.
 */
#pragma once

#include <jansson.h>

#include "account/account.h"
#include "runtime/runtime.h"

struct quota_amount {
    uint32_t sandboxes, vcpus, memory_mb;
};

struct quota {
    struct quota_amount limits, usage, reservation;
};

/* Read the present use of a team and the limits of its plan. reservation: the amount that the
 * resources would take. */
int quota_read(struct db *db, const char *team_id, const struct plan *plan,
               const struct runtime_resources *resources, struct quota *quota, struct error **err);

/* The present use of a team, the size of a template, and the access revision, all of the same
 * moment. */
struct quota_seen {
    struct quota_amount usage;
    uint64_t paused_mb;      /* memory of paused sandboxes and checkpoints */
    uint32_t cpu, memory_mb; /* of the template; 0: it has no ready version */
    uint64_t revision;
};
/* Read them. The template is the one to which the slug leads for this team. */
int quota_look(struct db *db, const char *team_id, const char *template_slug,
               struct quota_seen *seen, struct error **err);

/* Return the quota as the interface shows it; a new reference. */
json_t *quota_to_json(const struct quota *quota);

/* Inside a transaction: take quota for one more sandbox of this size. The team's row stays locked
 * until the end of the transaction, in which the caller writes the row that holds the reservation.
 * Errors: ERR_SANDBOX_QUOTA_EXCEEDED with the quota in its details; ERR_NOT_FOUND: the team was
 * removed meanwhile. */
int quota_reserve(struct db *db, const char *team_id, const struct runtime_resources *resources,
                  struct error **err);

/* Take quota for a new sandbox. A pause is never refused because a team has too many stopped
 * sandboxes. While a team has more than its plan keeps, it gets no new sandbox instead. Errors: as
 * quota_reserve(), and ERR_STOPPED_QUOTA_EXCEEDED with limit and use. */
int quota_reserve_new(struct db *db, const char *team_id, const struct runtime_resources *resources,
                      struct error **err);

/* Check whether a delete may leave the sandbox's instance to the background. It may not when as
 * many instances of the team wait for removal as the plan has sandboxes. So a team that creates and
 * deletes without end takes at most that much of the hosts in addition to its quota. */
int quota_may_leave(struct db *db, const char *team_id, bool *may, struct error **err);

/* For *_db.c that take quota: a condition on the rows t of teams and p of its plan, with two
 * parameters: vCPUs and memory. A removed team has no room: a create that was allowed before the
 * removal may reach the team's row after it. */
#define QUOTA_HAS_ROOM                                                \
    "t.removed_at_ms IS NULL AND t.used_sandboxes + 1 <= p.sandboxes" \
    " AND t.used_vcpus + CAST(? AS SIGNED) <= p.vcpus"                \
    " AND t.used_memory_mb + CAST(? AS SIGNED) <= p.memory_mb"
