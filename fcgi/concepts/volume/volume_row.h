/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write volume rows; for this folder and the jobs of the dispatcher. */
#pragma once

#include "db/lease.h"
#include "volume/volume.h"

/* Inside a transaction: lock the team, check that the name is free and that its plan allows one
 * more volume, and choose a host. Fills in host_id, and size_gb if it is 0. Errors: ERR_NAME_TAKEN,
 * ERR_VOLUME_QUOTA_EXCEEDED, ERR_NO_CAPACITY, ERR_INSUFFICIENT_STORAGE. */
int volume_row_admit(struct db *db, struct volume *volume, struct error **err);

/* Insert a volume in state creating, with a lease of this process. */
int volume_row_insert(struct db *db, const struct volume *volume, const char *created_by,
                      uint64_t lease_s, struct error **err);

/* Change a volume from creating to ready. Errors: ERR_LEASE_LOST when another process has given it
 * up meanwhile. */
int volume_row_ready(struct db *db, const char *id, struct error **err);

/* Inside a transaction, on a locked row: hide the volume, free its name, and give the caller a
 * lease to delete the data. lease_s 0: any dispatcher may begin. */
int volume_row_delete(struct db *db, const char *id, uint64_t lease_s, struct error **err);

/* Record that the host has no part of the volume any more. */
int volume_row_deleted(struct db *db, const char *id, struct error **err);

/* Start to keep the lease of a volume that is being created; lease_tick() renews it. */
void volume_row_keep(struct db *db, const char *id, uint64_t lease_s, struct lease *lease);

/* Let the next attempt to delete it begin after delay_ms. */
int volume_row_defer(struct db *db, const char *id, uint64_t delay_ms, struct error **err);

/* Inside a transaction: take a volume whose creation or deletion has no lease owner any more. The
 * caller then deletes it. id is "" when there is no such volume. */
int volume_row_take_overdue(struct db *db, uint64_t lease_s, struct volume *volume,
                            struct error **err);

/* Check whether the id belongs to a volume that is not finally deleted and whose place is, or may
 * be, on the host. */
int volume_row_is_kept(struct db *db, const char *id, uint32_t host_id, bool *kept,
                       struct error **err);

/* List the ids of all volumes that should be on a host. The caller frees the array. */
int volume_row_list_on_host(struct db *db, uint32_t host_id, char (**ids)[ID_SIZE], size_t *count,
                            struct error **err);
