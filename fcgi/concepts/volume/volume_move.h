/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Move volumes to another host while no sandbox with them runs. The volumes of one sandbox move
 * together: one transaction changes their host, if none was written to since its copy began.
 *
 * A start of a sandbox and a change of files do not wait for the copies. The copies are then
 * useless, and are made again later. The sandboxes follow (sandbox_move.c). The old volume stays
 * until the last sandbox has followed.
 */
#pragma once

#include "moving/moving.h"
#include "volume/volume.h"

#define VOLUME_GROUP_MAX 64 /* volumes that move together */

extern const struct mover volume_mover;
extern const struct move_start volume_move_start; /* of one volume, and those that move with it */

/* --- rows: volume_move_db.c --- */

/* List volumes on hosts that are being drained, with which no sandbox runs; at most limit. */
int volume_row_leaving(struct db *db, int64_t failed_before_ms, unsigned limit,
                       char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* List the volumes that move together with a volume, itself included, in the order in which they
 * are locked. Errors: ERR_INVALID_REQUEST: too many. */
int volume_row_group(struct db *db, const struct volume *volume, char (*ids)[ID_SIZE],
                     unsigned *count, struct error **err);

/* Append the addresses of the sandboxes that have the volume to an array of the caller. *machine:
 * one sandbox is a virtual machine. */
int volume_row_addresses(struct db *db, const char *id, uint32_t **addresses, unsigned *count,
                         bool *machine, struct error **err);

/* Inside a transaction, on a locked row: begin a new generation, which ends all earlier permissions
 * to change files. */
int volume_row_new_generation(struct db *db, const char *id, struct error **err);

/* Inside a transaction, on a locked row: write the volume's new host. */
int volume_row_rehost(struct db *db, const char *id, uint32_t host_id, struct error **err);
