/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of template versions: for the *_db.c files of this folder, and for the code that builds
 * versions and deletes them. */
#pragma once

#include "db/lease.h"
#include "template/template.h"

/* Read the version in the current row of a statement that selects TEMPLATE_COLUMNS. */
void template_row_read(const struct db_rows *rows, struct template_version *version);

/* Record the size of a version on a host's disk. */
int template_row_measured(struct db *db, const char *id, uint32_t size_mb, struct error **err);

/* Inside a transaction: lock the template of version->owner and slug, which orders the numbers of
 * its versions. A missing template is created. Sets template_id. */
int template_row_lock(struct db *db, struct template_version *version, struct error **err);

/* With the lock held: choose the number of the next version. */
int template_row_number(struct db *db, struct template_version *version, struct error **err);

/* --- building --- */

/* Take a version that is to be built and has no lease owner, for lease_s; id "": none. *attempts:
 * how often it was taken, this time included. This is a transaction of its own. */
int template_row_take(struct db *db, const char *lease_owner, uint64_t lease_s,
                      struct template_version *version, unsigned *attempts, struct error **err);

/* Begin to keep the lease of a version. The lease is lost when another worker has taken it, or the
 * version is deleted. */
void template_row_keep(struct db *db, const char *id, const char *lease_owner, uint64_t lease_s,
                       struct lease *lease);

/* Release a version: any dispatcher may take it after delay_ms. */
int template_row_defer(struct db *db, const char *id, const char *lease_owner, uint64_t delay_ms,
                       struct error **err);

/* Add a line to the build log, inside a transaction or not. When the log is full, new lines are
 * left out. */
int template_row_log(struct db *db, const char *id, const char *line, struct error **err);

/* Do the same with the output lines of a step, each behind a bar; text is UTF-8. Beyond a bound
 * they are left out. */
int template_row_log_output(struct db *db, const char *id, const char *text, struct error **err);

/* Delete the build log, inside a transaction or not. */
int template_row_log_delete(struct db *db, const char *id, struct error **err);

/* Change a version from building to ready or failed, inside the transaction that adds its sources.
 * With TEMPLATE_START_PENDING it is not ready yet, but is copied. Errors: ERR_LEASE_LOST. */
int template_row_built(struct db *db, const char *lease_owner,
                       const struct template_version *version, bool ready, struct error **err);

/* --- removal --- */

/* Take a version in state deleting, for lease_s; id "": none. This is a transaction of its own. */
int template_row_take_deleting(struct db *db, uint64_t lease_s, struct template_version *version,
                               struct error **err);

/* Change a version from deleting to deleted, when no host has any part left. This is a transaction
 * of its own. */
int template_row_deleted(struct db *db, const char *id, struct error **err);

/* Check whether the source belongs to a version that is not deleted and has not failed. */
int template_row_uses_source(struct db *db, const char *version_id, bool *uses, struct error **err);

/* --- moves: template_move_db.c --- */

/* List ready versions whose sources are only on hosts that are being drained, and whose last copy
 * did not fail since failed_before_ms; at most limit. */
int template_row_leaving(struct db *db, int64_t failed_before_ms, unsigned limit,
                         char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* Inside a transaction: check that the version is ready, and keep it from deletion until the end.
 * Errors: ERR_NOT_FOUND. */
int template_row_lock_ready(struct db *db, const char *version_id, char owner[ID_SIZE],
                            struct error **err);

/* Find a host that answers and has the source. Errors: ERR_NOT_FOUND. */
int template_row_origin(struct db *db, const char *version_id, uint32_t *host_id,
                        struct error **err);

/* List a few hosts that answer and have the source. */
#define TEMPLATE_ORIGINS_MAX 4
int template_row_origins(struct db *db, const char *version_id,
                         uint32_t host_ids[TEMPLATE_ORIGINS_MAX], unsigned *count,
                         struct error **err);

/* List active hosts that lack the source, at most limit. */
int template_row_lacking(struct db *db, const char *version_id, unsigned limit, uint32_t *host_ids,
                         unsigned *count, struct error **err);

int template_row_has_source(struct db *db, const char *version_id, uint32_t host_id, bool *has,
                            struct error **err);
