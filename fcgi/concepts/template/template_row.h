/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of template versions: for the *_db.c files of this folder, and for whoever builds versions
 * and removes them. */
#pragma once

#include "db/lease.h"
#include "template/template.h"

/* The version in the current row of a statement that selects TEMPLATE_COLUMNS. */
void template_row_read(const struct db_rows *rows, struct template_version *version);

/* What a host's disk keeps for a version. */
int template_row_measured(struct db *db, const char *id, uint32_t size_mb, struct error **err);

/* Inside a transaction: lock the template of version->owner and slug, which orders the numbers of
 * its versions; one that is not there is made. Fills in template_id. */
int template_row_lock(struct db *db, struct template_version *version, struct error **err);

/* With the lock held: the number of the next version. */
int template_row_number(struct db *db, struct template_version *version, struct error **err);

/* --- building --- */

/* Take one that is to be built and has no lease owner, for lease_s; id "": none. *attempts: how
 * many took it, this one included. In a transaction of its own. */
int template_row_take(struct db *db, const char *lease_owner, uint64_t lease_s,
                      struct template_version *version, unsigned *attempts, struct error **err);

/* Begin to keep one that was taken. It is lost when somebody else has taken it, or it is deleted.
 */
void template_row_keep(struct db *db, const char *id, const char *lease_owner, uint64_t lease_s,
                       struct lease *lease);

/* Let go of it: any dispatcher may take it in delay_ms. */
int template_row_defer(struct db *db, const char *id, const char *lease_owner, uint64_t delay_ms,
                       struct error **err);

/* Add a line to what the build says. The oldest of too many lines stay. */
int template_row_log(struct db *db, const char *id, const char *line, struct error **err);

/* Add the lines of what a step of it wrote, each behind a bar; text is UTF-8. Beyond a bound they
 * are left out. */
int template_row_log_output(struct db *db, const char *id, const char *text, struct error **err);

/* Inside the transaction that adds its sources: building → ready or failed. Errors: ERR_LEASE_LOST.
 */
int template_row_built(struct db *db, const char *lease_owner,
                       const struct template_version *version, bool ready, struct error **err);

/* --- removal --- */

/* Take one that is deleting, for lease_s; id "": none. In a transaction of its own. */
int template_row_take_deleting(struct db *db, uint64_t lease_s, struct template_version *version,
                               struct error **err);

/* deleting → deleted: nothing is left of it on any host. In a transaction of its own. */
int template_row_deleted(struct db *db, const char *id, struct error **err);

/* Whether a version that is not deleted and has not failed has this source. */
int template_row_uses_source(struct db *db, const char *version_id, bool *uses, struct error **err);

/* --- moves: template_move_db.c --- */

/* Ready versions whose sources are only on hosts that are being emptied, and whose last copy did
 * not fail since then; at most limit. */
int template_row_leaving(struct db *db, int64_t failed_before_ms, unsigned limit,
                         char (*ids)[ID_SIZE], unsigned *count, struct error **err);

/* Inside a transaction: it is ready, and cannot be deleted before the end. Errors: ERR_NOT_FOUND.
 */
int template_row_lock_ready(struct db *db, const char *version_id, char owner[ID_SIZE],
                            struct error **err);

/* A host that answers and has its source. Errors: ERR_NOT_FOUND. */
int template_row_origin(struct db *db, const char *version_id, uint32_t *host_id,
                        struct error **err);

/* Active hosts that lack its source, at most limit. */
int template_row_lacking(struct db *db, const char *version_id, unsigned limit, uint32_t *host_ids,
                         unsigned *count, struct error **err);

int template_row_has_source(struct db *db, const char *version_id, uint32_t host_id, bool *has,
                            struct error **err);
