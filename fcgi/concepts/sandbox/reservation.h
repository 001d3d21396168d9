/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sandboxes take of their team's quota and of their hosts, as counters in the rows of both: a
 * row refuses what is too much in the statement that takes it. sandbox->counted says where a
 * sandbox is in them, as of its row; whoever changes the row brings them after it, in the same
 * transaction. The order of locks is sandbox, volumes, denied names, team,
 * host, its pool.
 */
#pragma once

#include "sandbox/quota.h"
#include "sandbox/sandbox.h"

/* Inside a transaction, for a sandbox that is not there yet: take its quota; its room is
 * taken by whoever chooses the host. Errors: ERR_SANDBOX_QUOTA_EXCEEDED. */
int reservation_take_quota(struct db *db, struct sandbox *sandbox, struct error **err);

/* The same with room on the host that was chosen, and with the template version held, in the one
 * statement that locks the rows of team, host and pool. *taken false: one of them refuses, which
 * is for those who take each by itself to say. */
int reservation_take_all(struct db *db, struct sandbox *sandbox, bool *taken, struct error **err);

/* The same for a stopped one that is to run again: quota, and room on its host. Other errors:
 * ERR_NO_CAPACITY. */
int reservation_renew(struct db *db, struct sandbox *sandbox, struct error **err);

/* With the sandbox's row locked, before it names the other host: what it takes of its host it takes
 * of that one. Errors: ERR_NO_CAPACITY. */
int reservation_rehost(struct db *db, const struct sandbox *sandbox, uint32_t to_host,
                       struct error **err);

/* With the sandbox's row locked: give back what its state and `reserved` no longer stand for. */
int reservation_follow(struct db *db, struct sandbox *sandbox, struct error **err);

/* Compare all counters with the sandboxes and put right what is wrong; each such is logged. */
int reservation_reconcile(struct db *db, struct error **err);

/* Whose counters are not what the sandboxes say: "host NAME" or "team SLUG". The caller frees. */
#define RESERVATION_OWNER_SIZE 80
struct reservation_drift {
    char owner[RESERVATION_OWNER_SIZE];
    char id[ID_SIZE];
};
int reservation_drifts(struct db *db, struct reservation_drift **list, size_t *count,
                       struct error **err);
