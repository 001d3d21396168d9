/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtime quota of a team: counters in its row, which refuses what passes the plan in the
 * statement that takes it. Sandboxes take and give through reservation.h.
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

/* What a team uses now, against its plan; reservation is what the resources would take. */
int quota_read(struct db *db, const char *team_id, const struct plan *plan,
               const struct runtime_resources *resources, struct quota *quota, struct error **err);

/* What a team uses now, the size of the template that the slug means to it (resources stay as they
 * are where no version of it is ready), and the access revision of the same moment. */
int quota_look(struct db *db, const char *team_id, const char *template_slug,
               struct quota_amount *usage, struct runtime_resources *resources, uint64_t *revision,
               struct error **err);

/* As the interface shows it; a new reference. */
json_t *quota_to_json(const struct quota *quota);

/* Inside a transaction: take quota for one more sandbox of the resources. The team's row is locked
 * to the end of the transaction, in which the caller writes the row that holds the reservation.
 * Errors: ERR_SANDBOX_QUOTA_EXCEEDED with the quota in its details. */
int quota_reserve(struct db *db, const char *team_id, const struct runtime_resources *resources,
                  struct error **err);

/* The same for a sandbox that is not there yet. A pause is never refused for want of room among the
 * stopped, and while there are more of those than the plan keeps, no new one is made either. */
int quota_reserve_new(struct db *db, const char *team_id, const struct runtime_resources *resources,
                      struct error **err);

/* Whether a sandbox of the team may leave its instance to the background when it is deleted. Not
 * once as many instances wait for their removal as the plan has sandboxes: a team that creates and
 * deletes without end takes at most that much of the hosts in addition to its quota. */
int quota_may_leave(struct db *db, const char *team_id, bool *may, struct error **err);

/* For *_db.c that take quota: a condition on the rows t of teams and p of its plan, with two
 * places: vCPUs and memory. */
#define QUOTA_HAS_ROOM                                                                    \
    "t.used_sandboxes + 1 <= p.sandboxes AND t.used_vcpus + CAST(? AS SIGNED) <= p.vcpus" \
    " AND t.used_memory_mb + CAST(? AS SIGNED) <= p.memory_mb"
