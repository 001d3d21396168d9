/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing checkpoint rows; for the lifecycle only. */
#pragma once

#include "checkpoint/checkpoint.h"

/* Inside the transaction that begins to make it, with its team locked: one that has a name gets its
 * version. */
int checkpoint_row_insert(struct db *db, struct checkpoint *checkpoint, struct error **err);

/* One of a team that can be used, by its name; version 0: the newest. Errors: ERR_NOT_FOUND. */
int checkpoint_row_find(struct db *db, const char *team_id, const char *name, uint32_t version,
                        struct checkpoint *checkpoint, struct error **err);

/* Inside the transaction that ends it: creating → ready, or forking, with its size. Errors:
 * ERR_LEASE_LOST when it was given up meanwhile. */
int checkpoint_row_ready(struct db *db, const struct checkpoint *checkpoint, struct error **err);

/* The size that is known of one that is deleted or not; 0 for an id that is "" or unknown. */
int checkpoint_row_size(struct db *db, const char *id, uint32_t *size_mb, struct error **err);

/* The one that an operation of the sandbox's incarnation makes; id "": none. */
int checkpoint_row_made_in(struct db *db, const char *sandbox_id, uint32_t incarnation,
                           char id[ID_SIZE], struct error **err);

/* → deleting. lease_s: the caller removes it within that time. Others than
 * creating, ready and forking ones stay what they are. */
int checkpoint_row_deleting(struct db *db, const char *id, uint64_t lease_s, struct error **err);

/* Mark as deleting, for anybody to remove, those whose making was given up or superseded. */
int checkpoint_row_abandon(struct db *db, struct error **err);

/* Inside a transaction: take one that is deleting, for lease_s; id "": none. */
int checkpoint_row_take_deleting(struct db *db, uint64_t lease_s, struct checkpoint *checkpoint,
                                 struct error **err);

/* Whether a sandbox or a template is being made from it. */
int checkpoint_row_in_use(struct db *db, const char *id, bool *in_use, struct error **err);

/* Whether a sandbox is being made from a copy that a fork of this one has made for itself. */
int checkpoint_row_forking(struct db *db, const char *sandbox_id, bool *forking,
                           struct error **err);

/* The instances that were made from it and may be there. The caller frees, also after an error. */
int checkpoint_row_made_from(struct db *db, const char *id, char (**names)[INSTANCE_NAME_SIZE],
                             unsigned *count, struct error **err);

/* Look at it again in delay_ms. */
int checkpoint_row_defer(struct db *db, const char *id, uint64_t delay_ms, struct error **err);

/* deleting → deleted: nothing of it is left on its host. */
int checkpoint_row_deleted(struct db *db, const char *id, struct error **err);

/* Whether a row that is not deleted has this instance on a host. */
int checkpoint_row_uses_instance(struct db *db, uint32_t host_id, const char *instance_name,
                                 bool *uses, struct error **err);

/* Whose instance this is, of those that are not deleted; id "": nobody's. */
int checkpoint_row_of_instance(struct db *db, const char *instance_name, char id[ID_SIZE],
                               struct error **err);

/* The usable ones on a host. The caller frees. */
int checkpoint_row_on_host(struct db *db, uint32_t host_id, struct checkpoint **list,
                           unsigned *count, struct error **err);

/* --- moves: checkpoint_move_db.c --- */

/* Checkpoints of hosts that are being emptied, and whose last move did not fail since then; at most
 * limit. */
int checkpoint_row_leaving(struct db *db, int64_t failed_before_ms, unsigned limit,
                           char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* Inside a transaction, on a locked row: it is on another host. Errors: ERR_NOT_FOUND. */
int checkpoint_row_rehost(struct db *db, const char *id, uint32_t from_host, uint32_t to_host,
                          struct error **err);

/* Whether a sandbox is being made from it on this host, or a template somewhere. */
int checkpoint_row_in_use_on(struct db *db, const char *id, uint32_t host_id, bool *in_use,
                             struct error **err);
