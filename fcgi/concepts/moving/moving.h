/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves to another host of what is no stopped sandbox: checkpoints, volumes, sources of templates,
 * and sandboxes that run and go on there. A row says what is copied where, by whom, and what is
 * left to be removed; there is one for each thing that moves, until nothing of its move is left.
 * What is copied stays usable where it is; its own row names the other host when the copy is whole,
 * in the transaction that says so here.
 */
#pragma once

#include "base/ulid.h"
#include "db/lease.h"
#include "runtime/runtime.h"
#include "worker/worker.h"

enum move_kind { MOVE_CHECKPOINT, MOVE_VOLUME, MOVE_TEMPLATE, MOVE_SANDBOX };
enum move_state { MOVE_COPYING, MOVE_COPIED, MOVE_CLEARING, MOVE_FAILED };

#define MOVE_FAILURE_SIZE 513
/* One that failed is begun again after so long. */
#define MOVE_AGAIN_MS 60000

struct move {
    char id[ID_SIZE]; /* of what moves */
    enum move_kind kind;
    char team_id[ID_SIZE];
    char group_id[ID_SIZE]; /* of what arrives together */
    enum move_state state;
    bool asked; /* somebody waits for it */
    uint32_t from_host, to_host, clear_host;
    uint64_t generation;
    int64_t deadline_at_ms;
    char lease_owner[LEASE_OWNER_SIZE];
    unsigned attempts;
    char last_error[MOVE_FAILURE_SIZE];
};

/* --- rows --- */

/* Inside a transaction that has locked what moves: begin. One that failed before is forgotten.
 * Errors: ERR_SANDBOX_BUSY while an earlier move of it is not over. */
int move_begin(struct db *db, const struct move *move, struct error **err);

/* Take over the one that has waited longest, among those that are asked for or the others; id "":
 * none. In a transaction of its own. */
int move_take(struct db *db, const char *lease_owner, uint64_t lease_s, bool asked,
              struct move *move, struct error **err);

/* Begin to keep one that was taken just now. */
void move_keep(struct db *db, const struct move *move, uint64_t lease_s, struct lease *lease);

/* Let go of it: whoever asks may take it in delay_ms. */
int move_defer(struct db *db, const struct move *move, uint64_t delay_ms, struct error **err);

/* Inside a transaction: lock it, and make sure that it is ours. Errors: ERR_LEASE_LOST. */
int move_check_owner(struct db *db, const struct move *move, struct error **err);

/* The copy is there: what is left on clear_host is to be removed. failure: why it failed, "" when
 * it did not. Of all of its group. */
int move_clear_from(struct db *db, const char *group_id, bool arrived, const char *failure,
                    struct error **err);

/* Of a volume of a group: it is copied. *all: so are the others. */
int move_copied(struct db *db, const struct move *move, bool *all, struct error **err);

/* The moves of a group; the caller frees. Locked, by id. */
int move_group(struct db *db, const char *group_id, struct move **moves, unsigned *count,
               struct error **err);

/* It is over: failed if it says why, else forgotten. */
int move_end(struct db *db, const struct move *move, struct error **err);

/* Forget one of a kind, whoever works on it. */
int move_forget(struct db *db, const char *id, enum move_kind kind, struct error **err);

/* Note how far it is. Errors: ERR_LEASE_LOST when it is no more. */
int move_note(struct db *db, const char *id, uint64_t generation, int64_t deadline_at_ms,
              struct error **err);

/* One that is not over; *found false: there is none. */
int move_find(struct db *db, const char *id, struct move *move, bool *found, struct error **err);

/* Whether a sandbox that is stopped is that only to go on on another host. */
int move_goes_on(struct db *db, const char *sandbox_id, bool *goes_on, struct error **err);

/* Why the last move of something failed; "": it did not, or another goes on. */
int move_failure(struct db *db, const char *id, char failure[MOVE_FAILURE_SIZE],
                 struct error **err);

/* Forget what failed before a time. */
int move_purge(struct db *db, int64_t before_ms, struct error **err);

/* How many there are of each kind and state, and what the latest that failed says. */
struct move_count {
    char kind[17], state[17];
    uint64_t count;
    char last_error[MOVE_FAILURE_SIZE];
};
#define MOVE_COUNTS_MAX 24
int move_counts(struct db *db, struct move_count counts[MOVE_COUNTS_MAX], unsigned *count,
                struct error **err);

/* --- work --- */

/* A move that this process works on. */
struct moving {
    struct worker *worker;
    struct move move;
    struct lease lease;
    struct runtime *from, *to; /* from NULL: its host is lost */
};

/* What a kind of thing does of it. */
struct mover {
    /* Copy it from one host to the other. Can be repeated. */
    int (*copy)(struct moving *moving, struct error **err);
    /* Inside a transaction, with its move locked: it is there from now on. *arrived false: it
     * waits for others. Errors: ERR_NOT_FOUND when it was deleted meanwhile. */
    int (*arrive)(struct db *db, const struct moving *moving, bool *arrived, struct error **err);
    /* Remove what is on clear_host. *cleared false: somebody uses it still. */
    int (*clear)(struct moving *moving, bool *cleared, struct error **err);
    /* Instead of copy() where the host that had it is lost; NULL: then it is as well. */
    int (*fetch)(struct moving *moving, struct error **err);
};

/* Renew the lease, while something else than the hosts is waited for. */
int moving_tick(struct moving *moving, struct error **err);

/* Connect to the host that is to be cleared. *lost: it will not come back. */
int moving_open_clear(struct moving *moving, struct runtime **runtime, bool *lost,
                      struct error **err);

/* Go on with one that was taken. */
int moving_run(struct moving *moving, const struct mover *mover, struct error **err);
void moving_close(struct moving *moving);

/* --- beginning --- */

struct move_order {
    const char *id;
    bool asked;                         /* somebody waits for it */
    uint32_t only_host;                 /* 0: to any */
    struct runtime_resources resources; /* that its host must have room for; all 0: only its disk */
};

/* How moves of a kind begin. */
struct move_start {
    /* What is on hosts that are being emptied, and did not fail to move since; at most limit. */
    int (*leaving)(struct db *db, int64_t failed_before_ms, unsigned limit, char (*ids)[ID_SIZE],
                   unsigned *count, struct error **err);
    /* Inside a transaction: begin the move of a const struct move_order. */
    int (*begin)(struct db *db, void *order, struct error **err);
    unsigned at_once; /* tried at a time, MOVE_AT_ONCE_MOST at most */
};
#define MOVE_AT_ONCE_MOST 32

/* For move_start.leaving: what a statement finds whose arguments are those two. */
int move_leaving_ids(struct db *db, const struct db_statement *statement, int64_t failed_before_ms,
                     unsigned limit, char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* Begin to move one of what is on hosts that are being emptied; *begun: there was one that could.
 */
int moving_begin_leaving(struct worker *worker, const struct move_start *start, bool *begun,
                         struct error **err);

/* Have it moved as ordered; one that moves already does so on. Errors: those of its beginning. */
int moving_ask(struct worker *worker, const struct move_start *start,
               const struct move_order *order, struct error **err);

/* Until its move is over, or give_up_ms (monotonic). *arrived: it is where it was to go. */
int moving_wait(struct worker *worker, const char *id, int64_t give_up_ms, bool *arrived,
                struct error **err);

/* Have it moved as ordered, and wait until it is there, at most until give_up_ms (monotonic).
 * *moved: it is; what keeps it from that is no error. */
int moving_for_room(struct worker *worker, const struct move_start *start,
                    const struct move_order *order, int64_t give_up_ms, bool *moved,
                    struct error **err);

/* What cannot begin to move is tried again later, when there may be room, or another host: 0, and
 * *err is clear; -1 for all other errors. */
int move_pass_over(struct error **err);
