/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing volume rows; for this folder and the jobs of the dispatcher. */
#pragma once

#include "db/lease.h"
#include "volume/volume.h"

/* Inside a transaction: lock the team and check that the name is free and that one more volume fits
 * its plan; choose a host for it. Fills in size_gb and host_id. Errors: ERR_NAME_TAKEN,
 * ERR_PLAN_RESTRICTS_RESOURCES, ERR_NO_CAPACITY, ERR_INSUFFICIENT_STORAGE. */
int volume_row_admit(struct db *db, struct volume *volume, struct error **err);

/* Insert it, being made by us until the lease ends. */
int volume_row_insert(struct db *db, const struct volume *volume, const char *created_by,
                      uint64_t lease_s, struct error **err);

/* From creating to ready. Errors: ERR_LEASE_LOST when somebody has given it up meanwhile. */
int volume_row_ready(struct db *db, const char *id, struct error **err);

/* Inside a transaction, on a locked row: it and its name are gone for everyone but whoever removes
 * it, who has lease_s for that (0: anyone may begin). */
int volume_row_delete(struct db *db, const char *id, uint64_t lease_s, struct error **err);

/* Nothing is left of it on its host. */
int volume_row_deleted(struct db *db, const char *id, struct error **err);

/* Start to keep the lease of a volume that is being made; lease_tick() renews it. */
void volume_row_keep(struct db *db, const char *id, uint64_t lease_s, struct lease *lease);

/* Let the next try to remove it begin after delay_ms. */
int volume_row_defer(struct db *db, const char *id, uint64_t delay_ms, struct error **err);

/* Inside a transaction: take one whose making or removal has no lease owner any more, which is then
 * to be removed; id "" when there is none. */
int volume_row_take_overdue(struct db *db, uint64_t lease_s, struct volume *volume,
                            struct error **err);

/* Whether the id is that of a volume which has not been deleted for good, and whose place is on the
 * host, or may be. */
int volume_row_is_kept(struct db *db, const char *id, uint32_t host_id, bool *kept,
                       struct error **err);

/* The ids of all volumes that should be on a host. The caller frees the array. */
int volume_row_list_on_host(struct db *db, uint32_t host_id, char (**ids)[ID_SIZE], size_t *count,
                            struct error **err);
