/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations: the record of a lifecycle move in flight, who works on it and until when. The owner
 * of its lease renews its lease while it waits for the runtime; when the lease runs out any
 * dispatcher takes the operation over. A newer move (a delete) supersedes a running operation,
 * whose owner learns it from the next renewal.
 */
#pragma once

#include "db/lease.h"
#include "sandbox/sandbox.h"
#include "worker/worker.h"

enum operation_kind {
    OPERATION_CREATE,
    OPERATION_PAUSE,
    OPERATION_RESUME,
    OPERATION_CHECKPOINT,
    OPERATION_FORK, /* the create of a sandbox of a fork, by a dispatcher */
    OPERATION_MOVE, /* to another host, by a dispatcher */
    OPERATION_DESTROY,
};
const char *operation_kind_name(enum operation_kind kind);

struct operation {
    char id[ID_SIZE];
    char sandbox_id[ID_SIZE];
    enum operation_kind kind;
    uint32_t incarnation;
    char lease_owner[LEASE_OWNER_SIZE];
    uint32_t attempts;
    uint32_t host_id; /* of a move: where to; else 0 */
};

/* Inside a transaction that holds the sandbox's row: supersede what runs on it and record a new
 * operation of sandbox->incarnation; sandbox->operation_id is set, the row is the caller's to
 * write. lease_owner NULL: nobody works on it yet, the first dispatcher takes it. */
int operation_begin(struct db *db, struct sandbox *sandbox, enum operation_kind kind,
                    const char *lease_owner, uint64_t lease_s, struct operation *operation,
                    struct error **err);

/* Of an operation of sandboxes that nobody works on yet: its turn among others of its kind, which
 * are taken in the order of their turns. The n-th of a request has a later turn than those that
 * come within n seconds, so that a small request does not wait for a large one. */
int operation_set_turn(struct db *db, const struct operation *operation, unsigned n,
                       struct error **err);

/* Of a move that begins: where to. */
int operation_set_host(struct db *db, struct operation *operation, uint32_t host_id,
                       struct error **err);

/* Inside a transaction: nobody else has taken it over. Errors: ERR_LEASE_LOST. */
int operation_check_owner(struct db *db, const struct operation *operation, struct error **err);

/* How one ended that is not running any more. failure: what was recorded, owned by the caller. */
enum operation_state { OPERATION_RUNNING, OPERATION_DONE, OPERATION_FAILED, OPERATION_SUPERSEDED };
int operation_outcome(struct db *db, const char *id, enum operation_state *state, char **failure,
                      struct error **err);

/* Inside a transaction: the operation ended. failure NULL: done, else failed with that text. note:
 * what is to be known of one that is done; "" for nothing. */
int operation_end(struct db *db, const struct operation *operation, const char *failure,
                  const char *note, struct error **err);

/* Begin to keep one that we hold. */
void operation_keep(struct db *db, const struct operation *operation, uint64_t lease_s,
                    struct lease *lease);

/* Let go of it for now: any dispatcher may take it in delay_ms. Not ours any more: success. */
int operation_defer(struct db *db, const struct operation *operation, uint64_t delay_ms,
                    const char *failure, struct error **err);

/* Which operations: those that somebody waits for, which is all but removals; these and removals;
 * removals alone; the sandboxes of forks, and moves to other hosts, which are in none of the
 * others. */
enum operation_class {
    OPERATIONS_URGENT,
    OPERATIONS_ANY,
    OPERATIONS_REMOVAL,
    OPERATIONS_FORK,
    OPERATIONS_MOVE
};

/* Take over one operation whose lease has run out; operation->id is "" when there is none. Runs in
 * a transaction of its own. */
int operation_take_overdue(struct db *db, const char *lease_owner, uint64_t lease_s,
                           enum operation_class class, struct operation *operation,
                           struct error **err);

/* Whether clients are being answered whom removals would slow down: something was deleted a moment
 * ago, or is being created. */
int operation_answers_wait(struct db *db, bool *wait, struct error **err);
