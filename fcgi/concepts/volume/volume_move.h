/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Volumes go to another host while no sandbox runs that has them. Those that one sandbox has go
 * together: all are there in one transaction, if nothing was written to any since its copy was
 * begun. Whoever starts a sandbox with one, or changes its files, is not kept waiting: the copies
 * are worth nothing then, and are made again another time. The sandboxes follow (sandbox_move.c);
 * until the last one has, the old volume stays.
 */
#pragma once

#include "moving/moving.h"
#include "volume/volume.h"

#define VOLUME_GROUP_MAX 64 /* volumes that go together */

extern const struct mover volume_mover;
extern const struct move_start volume_move_start; /* of one, and those that go with it */

/* --- rows: volume_move_db.c --- */

/* Volumes of hosts that are being emptied, no sandbox with which runs; at most limit. */
int volume_row_leaving(struct db *db, int64_t failed_before_ms, unsigned limit,
                       char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* All that go with a volume, itself included, in the order in which they are locked. Errors:
 * ERR_INVALID_REQUEST: too many. */
int volume_row_group(struct db *db, const struct volume *volume, char (*ids)[ID_SIZE],
                     unsigned *count, struct error **err);

/* The addresses of the sandboxes that have it, appended to an array of the caller's. *machine:
 * one of them is a virtual machine. */
int volume_row_addresses(struct db *db, const char *id, uint32_t **addresses, unsigned *count,
                         bool *machine, struct error **err);

/* Inside a transaction, on a locked row: what was allowed before is not allowed after it. */
int volume_row_new_generation(struct db *db, const char *id, struct error **err);

/* Inside a transaction, on a locked row: it is on another host. */
int volume_row_rehost(struct db *db, const char *id, uint32_t host_id, struct error **err);
