/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations: the record of a lifecycle move in progress, its worker, and the end of its lease. The
 * worker renews the lease while it waits for the runtime. When the lease runs out, any dispatcher
 * takes the operation over. A newer move (a delete) supersedes a running operation, whose worker
 * then fails to renew its lease.
 */
#pragma once

#include "db/lease.h"
#include "sandbox/sandbox.h"
#include "worker/worker.h"

enum operation_kind {
    OPERATION_CREATE,
    OPERATION_PAUSE,
    OPERATION_RESUME,
    OPERATION_ROLLBACK,
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
    uint32_t host_id;      /* of a move: the target; else 0 */
    int64_t hook_since_ms; /* its hook was begun, and a later attempt looks for its end; 0: not */
};

/* Inside a transaction that holds the sandbox's row: supersede the running operation and record a
 * new one of sandbox->incarnation. Sets sandbox->operation_id; the caller writes the row.
 * lease_owner NULL: the first dispatcher takes the operation. */
int operation_begin(struct db *db, struct sandbox *sandbox, enum operation_kind kind,
                    const char *lease_owner, uint64_t lease_s, struct operation *operation,
                    struct error **err);

/* Set the turn of an operation that has no worker yet. Dispatchers take operations of one kind in
 * the order of their turns. The n-th operation of a request has a later turn than all that are
 * recorded within the next n seconds. So a small request does not wait for a large one. */
int operation_set_turn(struct db *db, const struct operation *operation, unsigned n,
                       struct error **err);

/* Set the target host of a move that begins. */
int operation_set_host(struct db *db, struct operation *operation, uint32_t host_id,
                       struct error **err);

/* Read the result of an operation. failure: the recorded text, owned by the caller. Errors:
 * ERR_NOT_FOUND. */
enum operation_state { OPERATION_RUNNING, OPERATION_DONE, OPERATION_FAILED, OPERATION_SUPERSEDED };
int operation_outcome(struct db *db, const char *id, enum operation_state *state, char **failure,
                      struct error **err);

/* Check whether the operation makes its sandbox: a create, or that of a fork. id "": none runs. */
int operation_makes(struct db *db, const char *id, bool *makes, struct error **err);

/* Inside a transaction: end the operation of this worker.
 *
 * failure: NULL for done, else the text of the failure. note: a text to record with a finished
 * operation; "" for none. Errors: ERR_LEASE_LOST when another worker has taken it over. */
int operation_end(struct db *db, const struct operation *operation, const char *failure,
                  const char *note, struct error **err);

/* End an operation as failed, independent of its worker. */
int operation_drop(struct db *db, const char *id, const char *failure, struct error **err);

/* Begin to keep the lease of an operation that this process holds. */
void operation_keep(struct db *db, const struct operation *operation, uint64_t lease_s,
                    struct lease *lease);

/* Release the operation for now: any dispatcher may take it after delay_ms. Success also when it is
 * not ours any more. */
int operation_defer(struct db *db, const struct operation *operation, uint64_t delay_ms,
                    const char *failure, struct error **err);

/* Do the same for an operation that could not reach its host. It does not count as an attempt. */
int operation_await_host(struct db *db, const struct operation *operation, uint64_t delay_ms,
                         const char *failure, struct error **err);

/* Release the operation while its hook runs: any dispatcher may take it after delay_ms. It does not
 * count as an attempt. */
int operation_await_hook(struct db *db, const struct operation *operation, uint64_t delay_ms,
                         struct error **err);

/* Which operations to take. URGENT: all for which a client waits, that is all but removals. ANY:
 * these and removals. REMOVAL: removals alone. FORK: the sandboxes of forks. HOOKED: all of
 * sandboxes with hooks but removals and moves. MOVE: moves to other hosts. Forks, moves and those
 * with hooks are in no other class. */
enum operation_class {
    OPERATIONS_URGENT,
    OPERATIONS_ANY,
    OPERATIONS_REMOVAL,
    OPERATIONS_FORK,
    OPERATIONS_HOOKED,
    OPERATIONS_MOVE
};

/* Take over one operation whose lease has run out. operation->id is "" when no lease has. This is a
 * transaction of its own. */
int operation_take_overdue(struct db *db, const char *lease_owner, uint64_t lease_s,
                           enum operation_class class, struct operation *operation,
                           struct error **err);

/* Check whether clients wait for answers that removals would slow down: a sandbox was deleted a
 * moment ago, or one is being created. */
int operation_answers_wait(struct db *db, bool *wait, struct error **err);
