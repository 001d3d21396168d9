/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write checkpoint rows; for the lifecycle only. */
#pragma once

#include "checkpoint/checkpoint.h"

/* Insert the row of a new checkpoint, with a version if it has a name. Call it inside the
 * transaction that starts the operation, with the team locked. */
int checkpoint_row_insert(struct db *db, struct checkpoint *checkpoint, struct error **err);

/* Find a team's usable checkpoint by its name. version 0: the newest. Errors: ERR_NOT_FOUND. */
int checkpoint_row_find(struct db *db, const char *team_id, const char *name, uint32_t version,
                        struct checkpoint *checkpoint, struct error **err);

/* Change a checkpoint from creating to checkpoint_state_made(), and set its size. Call it inside
 * the transaction that ends the operation. Errors: ERR_LEASE_LOST when it was given up meanwhile.
 */
int checkpoint_row_ready(struct db *db, const struct checkpoint *checkpoint, struct error **err);

/* Read the size of a checkpoint, deleted or not; 0 for "" or an unknown id. */
int checkpoint_row_size(struct db *db, const char *id, uint32_t *size_mb, struct error **err);

/* Find the checkpoint that an operation of the sandbox's incarnation is making. id "": it makes
 * none. */
int checkpoint_row_made_in(struct db *db, const char *sandbox_id, uint32_t incarnation,
                           char id[ID_SIZE], struct error **err);

/* Change a creating, ready, forking or kept checkpoint to deleting; other states stay. lease_s: the
 * time in which the caller removes it. */
int checkpoint_row_deleting(struct db *db, const char *id, uint64_t lease_s, struct error **err);

/* Mark checkpoints as deleting whose operation was given up or superseded, for any process to
 * remove. */
int checkpoint_row_abandon(struct db *db, struct error **err);

/* Take a checkpoint in state deleting for lease_s, inside a transaction. id "": there was nothing
 * to take. */
int checkpoint_row_take_deleting(struct db *db, uint64_t lease_s, struct checkpoint *checkpoint,
                                 struct error **err);

/* Check whether a sandbox or a template is being made from it. */
int checkpoint_row_in_use(struct db *db, const char *id, bool *in_use, struct error **err);

/* Check whether a sandbox is being made from the copy of a fork of this sandbox. */
int checkpoint_row_forking(struct db *db, const char *sandbox_id, bool *forking,
                           struct error **err);

/* List the names of instances that were made from it and may still exist. The caller frees the
 * array, also after an error. */
int checkpoint_row_made_from(struct db *db, const char *id, char (**names)[INSTANCE_NAME_SIZE],
                             unsigned *count, struct error **err);

/* Defer its removal by delay_ms. */
int checkpoint_row_defer(struct db *db, const char *id, uint64_t delay_ms, struct error **err);

/* Change it from deleting to deleted, after its host has deleted its data. */
int checkpoint_row_deleted(struct db *db, const char *id, struct error **err);

/* Check whether a row that is not deleted has this instance on a host. */
int checkpoint_row_uses_instance(struct db *db, uint32_t host_id, const char *instance_name,
                                 bool *uses, struct error **err);

/* Find the checkpoint of an instance, unless it is deleted. id "": no checkpoint has it. */
int checkpoint_row_of_instance(struct db *db, const char *instance_name, char id[ID_SIZE],
                               struct error **err);

/* List the ready and kept checkpoints on a host. The caller frees the array. */
int checkpoint_row_on_host(struct db *db, uint32_t host_id, struct checkpoint **list,
                           unsigned *count, struct error **err);

/* --- moves: checkpoint_move_db.c --- */

/* List at most limit checkpoints of hosts that are being emptied, except those whose last move
 * failed at or after failed_before_ms. */
int checkpoint_row_leaving(struct db *db, int64_t failed_before_ms, unsigned limit,
                           char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* Set the host of a locked row, inside a transaction. Errors: ERR_NOT_FOUND. */
int checkpoint_row_rehost(struct db *db, const char *id, uint32_t from_host, uint32_t to_host,
                          struct error **err);

/* Check whether a sandbox is being made from it on this host, or a template on any host. */
int checkpoint_row_in_use_on(struct db *db, const char *id, uint32_t host_id, bool *in_use,
                             struct error **err);
