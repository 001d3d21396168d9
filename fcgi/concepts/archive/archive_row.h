/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write the rows of the archive; for this folder and for the code that fills the archive. */
#pragma once

#include "archive/archive.h"

extern const struct lease_table archive_storing, archive_removing;

/* Find the object to copy next, among all that have not changed since before_ms. It is the oldest
 * object of the team that has waited longest. id "": no object is due. */
int archive_row_due(struct db *db, int64_t before_ms, enum archive_kind *kind, char id[ID_SIZE],
                    struct error **err);

enum archive_mark { ARCHIVE_MARK_NONE, ARCHIVE_MARK_ROW, ARCHIVE_MARK_NEVER };
/* Set the mark for a copy in the row of the sandbox or checkpoint. Call it in a transaction that
 * holds this row. */
int archive_row_mark(struct db *db, enum archive_kind kind, const char *object_id,
                     enum archive_mark mark, struct error **err);

/* Note that the team has had its turn. */
int archive_row_turn(struct db *db, const char *team_id, struct error **err);

/* Insert the row of a new copy under a lease, and set archive->id. Call it in a transaction that
 * holds the object's row. */
int archive_row_insert(struct db *db, struct archive *archive, const char *owner, uint64_t lease_s,
                       struct error **err);

/* Take over a copy whose lease has expired. id "": there is no such copy. */
int archive_row_take(struct db *db, const struct lease_table *table, const char *owner,
                     uint64_t lease_s, struct archive *archive, struct error **err);

/* Store the object's key and the upload's name; call it before the first write. Errors:
 * ERR_LEASE_LOST. */
int archive_row_begun(struct db *db, const struct archive *archive, const char *owner,
                      struct error **err);

/* Mark the copy as complete. Call it in a transaction that holds the object's row. Errors:
 * ERR_LEASE_LOST. */
int archive_row_whole(struct db *db, const struct archive *archive, const char *owner,
                      struct error **err);

/* Store the error, and let the copy be tried again in delay_ms. */
int archive_row_failed(struct db *db, const struct archive *archive, const char *owner,
                       uint64_t delay_ms, const char *failure, struct error **err);

/* Give up a copy, and let its object be removed from the storage. */
int archive_row_drop(struct db *db, const char *id, struct error **err);

/* Check whether the sandbox or checkpoint is still on the host that it was copied from. */
int archive_row_may_be_made_again(struct db *db, const char *id, bool *may, struct error **err);

/* Note that the promised host has the sandbox now (fetched), or has no data of the sandbox any more
 * (evicted). */
int archive_row_fetched(struct db *db, const char *id, struct error **err);
int archive_row_evicted(struct db *db, const char *id, struct error **err);

/* Delete the row of a copy whose object was removed. */
int archive_row_forget(struct db *db, const char *id, struct error **err);

/* Count copies and removals whose last error came from the storage. */
int archive_row_failing(struct db *db, uint64_t *count, struct error **err);

/* Check whether a row names this object of the storage. */
int archive_row_knows(struct db *db, const char *key, bool *known, struct error **err);

/* List complete copies by their ids, from the first id after `after` ("": the first of all). The
 * caller ends with archive_deinit() for each. */
int archive_row_list(struct db *db, const char *after, unsigned limit, struct archive *list,
                     unsigned *count, struct error **err);
