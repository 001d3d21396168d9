/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Move checkpoints, volumes, sources of templates and running sandboxes to another host. (Stopped
 * sandboxes: sandbox/sandbox_move.c.)
 *
 * A row describes the move of one object: its two hosts, the worker that copies it, and the host
 * where a copy must be removed. The row is deleted when the move is over; after a failure it stays
 * until the next move of the object, or until move_purge().
 *
 * The object stays usable on its old host during the copy. When the copy is complete, one
 * transaction changes the host in the object's row and the state of the move.
 */
#pragma once

#include "base/ulid.h"
#include "db/lease.h"
#include "runtime/runtime.h"
#include "worker/worker.h"

enum move_kind { MOVE_CHECKPOINT, MOVE_VOLUME, MOVE_TEMPLATE, MOVE_SANDBOX };
enum move_state { MOVE_COPYING, MOVE_COPIED, MOVE_CLEARING, MOVE_FAILED };

#define MOVE_FAILURE_SIZE 513
/* The time after which a failed move is tried again. */
#define MOVE_AGAIN_MS 60000

struct move {
    char id[ID_SIZE]; /* of the object that moves */
    enum move_kind kind;
    char team_id[ID_SIZE];
    char group_id[ID_SIZE]; /* of the objects that arrive together */
    enum move_state state;
    bool asked; /* a request waits for it */
    uint32_t from_host, to_host, clear_host;
    uint64_t generation;
    int64_t deadline_at_ms;
    char lease_owner[LEASE_OWNER_SIZE];
    unsigned attempts;
    char last_error[MOVE_FAILURE_SIZE];
};

/* --- rows --- */

/* Insert a move, inside a transaction that has locked the object. Deletes a failed earlier one.
 * Errors: ERR_SANDBOX_BUSY while an earlier move of the object is not over. */
int move_begin(struct db *db, const struct move *move, struct error **err);

/* Take over the move that has waited longest, among those that requests wait for (asked) or the
 * others. id "": no move is due. Uses its own transaction. */
int move_take(struct db *db, const char *lease_owner, uint64_t lease_s, bool asked,
              struct move *move, struct error **err);

/* Start to renew the lease of a move that was just taken. */
void move_keep(struct db *db, const struct move *move, uint64_t lease_s, struct lease *lease);

/* Release a move: any worker may take it in delay_ms. */
int move_defer(struct db *db, const struct move *move, uint64_t delay_ms, struct error **err);

/* Lock the move inside a transaction, and check that this worker has it. Errors: ERR_LEASE_LOST. */
int move_check_owner(struct db *db, const struct move *move, struct error **err);

/* Let all moves of a group remove a copy: the old one if they have arrived, else the incomplete
 * one. failure: the reason of a failure; "": no failure. */
int move_clear_from(struct db *db, const char *group_id, bool arrived, const char *failure,
                    struct error **err);

/* Note that a move of a group has its copy. *all: all others have theirs, too. */
int move_copied(struct db *db, const struct move *move, bool *all, struct error **err);

/* List and lock the moves of a group, by id; the caller frees the array. */
int move_group(struct db *db, const char *group_id, struct move **moves, unsigned *count,
               struct error **err);

/* End a move: as failed if it has an error, else by deleting its row. */
int move_end(struct db *db, const struct move *move, struct error **err);

/* Delete the move of an object, even while a worker has it. */
int move_forget(struct db *db, const char *id, enum move_kind kind, struct error **err);

/* Store the progress of a move. Errors: ERR_LEASE_LOST when it is over. */
int move_note(struct db *db, const char *id, uint64_t generation, int64_t deadline_at_ms,
              struct error **err);

/* Give a sandbox that was stopped only to move another deadline. It has no effect on others. */
int move_extend(struct db *db, const char *sandbox_id, int64_t deadline_at_ms, struct error **err);

/* Find a move that is not over. *found false: there is no such move. */
int move_find(struct db *db, const char *id, struct move *move, bool *found, struct error **err);

/* Check whether a paused sandbox was paused for a move, and will resume on another host. */
int move_goes_on(struct db *db, const char *sandbox_id, bool *goes_on, struct error **err);

/* Return the error of an object's last move. "": it did not fail, or the object moves again. */
int move_failure(struct db *db, const char *id, char failure[MOVE_FAILURE_SIZE],
                 struct error **err);

/* Delete failed moves that ended before before_ms. */
int move_purge(struct db *db, int64_t before_ms, struct error **err);

/* The number of moves of one kind in one state, and one of their errors. */
struct move_count {
    char kind[17], state[17];
    uint64_t count;
    char last_error[MOVE_FAILURE_SIZE];
};
#define MOVE_COUNTS_MAX 24
int move_counts(struct db *db, struct move_count counts[MOVE_COUNTS_MAX], unsigned *count,
                struct error **err);

/* --- work --- */

/* A move on which this process works. */
struct moving {
    struct worker *worker;
    struct move move;
    struct lease lease;
    struct runtime *from, *to; /* from NULL: its host is lost */
};

/* The steps of a move for one kind of object. */
struct mover {
    /* Copy the object from one host to the other. Can be repeated. */
    int (*copy)(struct moving *moving, struct error **err);
    /* Set the object's new host, inside a transaction with the move locked. *arrived false: it
     * waits for others of its group. Errors: ERR_NOT_FOUND when the object was deleted
     * meanwhile. */
    int (*arrive)(struct db *db, const struct moving *moving, bool *arrived, struct error **err);
    /* Remove the copy on clear_host. *cleared false: the copy is still in use. */
    int (*clear)(struct moving *moving, bool *cleared, struct error **err);
    /* Replaces copy() when the old host is lost; NULL: objects of this kind are lost with their
     * host. */
    int (*fetch)(struct moving *moving, struct error **err);
};

/* Renew the lease. Call it during waits for anything but the two hosts. */
int moving_tick(struct moving *moving, struct error **err);

/* Connect to the host that has the copy to remove. *lost: the host is lost. */
int moving_open_clear(struct moving *moving, struct runtime **runtime, bool *lost,
                      struct error **err);

/* Continue a move that was taken. */
int moving_run(struct moving *moving, const struct mover *mover, struct error **err);

/* --- starting --- */

struct move_order {
    const char *id;
    bool asked;                         /* a request waits for it */
    uint32_t only_host;                 /* 0: any host */
    struct runtime_resources resources; /* the room that its host must have; all 0: only room on its
                                         * disk */
};

/* The start of moves for one kind of object. */
struct move_start {
    /* List at most limit objects on hosts that are being emptied, except those whose move failed at
     * or after failed_before_ms. */
    int (*leaving)(struct db *db, int64_t failed_before_ms, unsigned limit, char (*ids)[ID_SIZE],
                   unsigned *count, struct error **err);
    /* Start the move of a const struct move_order, inside a transaction. */
    int (*begin)(struct db *db, void *order, struct error **err);
    unsigned at_once; /* the number of objects to try in one call; MOVE_AT_ONCE_MOST at most */
};

#define MOVE_AT_ONCE_MOST 32

/* The number of objects on hosts that are being emptied, which one call lists. */
#define MOVE_LISTED_MOST 512

/* Call begin() for the objects of a list, until a move has begun or `most` objects were tried. An
 * object whose move cannot begin rests in this process for up to 15 seconds and is passed over. So
 * objects that never move delay no others. Errors: those of begin() that move_pass_over() does not
 * ignore. */
int moving_begin_first(char (*ids)[ID_SIZE], unsigned count, unsigned most,
                       int (*begin)(void *context, const char *id, struct error **err),
                       void *context, bool *begun, struct error **err);

/* List the ids that a statement finds; for move_start.leaving. The statement's arguments are
 * failed_before_ms and limit. */
int move_leaving_ids(struct db *db, const struct db_statement *statement, int64_t failed_before_ms,
                     unsigned limit, char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* Start to move one object from a host that is being emptied. *begun: a move was started. */
int moving_begin_leaving(struct worker *worker, const struct move_start *start, bool *begun,
                         struct error **err);

/* Start the move of an order. An object that moves already continues with its earlier move. Errors:
 * those of move_start.begin. */
int moving_ask(struct worker *worker, const struct move_start *start,
               const struct move_order *order, struct error **err);

/* Wait for the end of a move, at most until give_up_ms (monotonic). A request that waits counts as
 * no start of its pool. *arrived: the object is on its new host. */
int moving_wait(struct worker *worker, const char *id, int64_t give_up_ms, bool *arrived,
                struct error **err);

/* Start the move of an order, and wait for its end, at most until give_up_ms (monotonic). *moved:
 * the object is on its new host. A move that cannot start is no error. */
int moving_for_room(struct worker *worker, const struct move_start *start,
                    const struct move_order *order, int64_t give_up_ms, bool *moved,
                    struct error **err);

/* Ignore an error that only delays the start of a move, such as missing room: clear *err and return
 * 0. Returns -1 for all other errors. */
int move_pass_over(struct error **err);
