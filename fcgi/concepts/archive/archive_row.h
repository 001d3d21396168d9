/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing rows of the archive; for this folder and for who fills it. */
#pragma once

#include "archive/archive.h"

extern const struct lease_table archive_storing, archive_removing;

/* Inside a transaction that holds the sandbox's row: somebody begins a copy of it. archive->id is
 * set. */
int archive_row_insert(struct db *db, struct archive *archive, const char *owner, uint64_t lease_s,
                       struct error **err);

/* Take a copy that nobody works on any more; id "": there is none. */
int archive_row_take(struct db *db, const struct lease_table *table, const char *owner,
                     uint64_t lease_s, struct archive *archive, struct error **err);

/* Where it is being written, before anything of it is. Errors: ERR_LEASE_LOST. */
int archive_row_begun(struct db *db, const struct archive *archive, const char *owner,
                      struct error **err);

/* Inside a transaction that holds the sandbox's row: it is whole. Errors: ERR_LEASE_LOST. */
int archive_row_whole(struct db *db, const struct archive *archive, const char *owner,
                      struct error **err);

/* Let it be tried again in delay_ms. */
int archive_row_failed(struct db *db, const struct archive *archive, const char *owner,
                       uint64_t delay_ms, const char *failure, struct error **err);

/* It is not wanted any more, and neither is what there is of it. */
int archive_row_drop(struct db *db, const char *id, struct error **err);

/* Whether its sandbox is still on the host that it was copied from. */
int archive_row_may_be_made_again(struct db *db, const char *id, bool *may, struct error **err);

/* Nothing is left of it. */
int archive_row_forget(struct db *db, const char *id, struct error **err);

/* How many fail by the storage. */
int archive_row_failing(struct db *db, uint64_t *count, struct error **err);

int archive_row_knows(struct db *db, const char *key, bool *known, struct error **err);

/* The next copies that are whole by their ids, behind `after` ("": from the first). */
int archive_row_list(struct db *db, const char *after, unsigned limit, struct archive *list,
                     unsigned *count, struct error **err);
