/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shares of sandboxes in their team's quota and their hosts' room, as counters in the rows of
 * team and host. The statement that takes a share refuses too much. sandbox->counted records in
 * which counters the sandbox is included, as of its row. A caller that changes the row also updates
 * the counters, in the same transaction. The order of locks is sandbox, volumes, denied names,
 * team, host, storage pool of the host.
 */
#pragma once

#include "sandbox/quota.h"
#include "sandbox/sandbox.h"

/* Inside a transaction, for a new sandbox: take its quota. The code that chooses the host takes the
 * room. Errors: those of quota_reserve_new(). */
int reservation_take_quota(struct db *db, struct sandbox *sandbox, struct error **err);

/* Take quota and room on the chosen host, and hold the template version, in one statement. It locks
 * the rows of team, host and storage pool.
 *
 * *taken false: the team, the host or the version refuses. The caller then takes each separately to
 * find out which. */
int reservation_take_all(struct db *db, struct sandbox *sandbox, bool *taken, struct error **err);

/* Take quota and room on its host for a paused sandbox that resumes. Errors:
 * ERR_SANDBOX_QUOTA_EXCEEDED, ERR_NO_CAPACITY. */
int reservation_renew(struct db *db, struct sandbox *sandbox, struct error **err);

/* With the sandbox's row locked, before it names the other host: move the reserved room from its
 * present host to that one. Errors: ERR_NO_CAPACITY. */
int reservation_rehost(struct db *db, const struct sandbox *sandbox, uint32_t to_host,
                       struct error **err);

/* With the sandbox's row locked: return the shares that its state and `reserved` no longer need. */
int reservation_follow(struct db *db, struct sandbox *sandbox, struct error **err);

/* Compare all counters with the sandboxes and correct wrong ones; each correction is logged. */
int reservation_reconcile(struct db *db, struct error **err);

/* List the owners of wrong counters: "host NAME" or "team SLUG". The caller frees. */
#define RESERVATION_OWNER_SIZE 80
struct reservation_drift {
    char owner[RESERVATION_OWNER_SIZE];
    char id[ID_SIZE];
};
int reservation_drifts(struct db *db, struct reservation_drift **list, size_t *count,
                       struct error **err);
