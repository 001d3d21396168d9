/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing rows of the archive; for this folder and for who fills it. */
#pragma once

#include "archive/archive.h"

extern const struct lease_table archive_storing, archive_removing;

/* Whose turn it is, of all that has been as it is since before then: the oldest of the team that
 * has waited for longest; id "": there is none. */
int archive_row_due(struct db *db, int64_t before_ms, enum archive_kind *kind, char id[ID_SIZE],
                    struct error **err);

enum archive_mark { ARCHIVE_MARK_NONE, ARCHIVE_MARK_ROW, ARCHIVE_MARK_NEVER };
/* Inside a transaction that holds its row: what the row says of a copy. */
int archive_row_mark(struct db *db, enum archive_kind kind, const char *object_id,
                     enum archive_mark mark, struct error **err);

/* The team has had its turn. */
int archive_row_turn(struct db *db, const char *team_id, struct error **err);

/* Inside a transaction that holds its row: somebody begins a copy of it. archive->id is set. */
int archive_row_insert(struct db *db, struct archive *archive, const char *owner, uint64_t lease_s,
                       struct error **err);

/* Take a copy that nobody works on any more; id "": there is none. */
int archive_row_take(struct db *db, const struct lease_table *table, const char *owner,
                     uint64_t lease_s, struct archive *archive, struct error **err);

/* Where it is being written, before anything of it is. Errors: ERR_LEASE_LOST. */
int archive_row_begun(struct db *db, const struct archive *archive, const char *owner,
                      struct error **err);

/* Inside a transaction that holds the row of what it is of: it is whole. Errors: ERR_LEASE_LOST. */
int archive_row_whole(struct db *db, const struct archive *archive, const char *owner,
                      struct error **err);

/* Let it be tried again in delay_ms. */
int archive_row_failed(struct db *db, const struct archive *archive, const char *owner,
                       uint64_t delay_ms, const char *failure, struct error **err);

/* It is not wanted any more, and neither is what there is of it. */
int archive_row_drop(struct db *db, const char *id, struct error **err);

/* Whether what it is of is still on the host that it was copied from. */
int archive_row_may_be_made_again(struct db *db, const char *id, bool *may, struct error **err);

/* It is on the host that it was promised to, or nothing of it is any more. */
int archive_row_fetched(struct db *db, const char *id, struct error **err);
int archive_row_evicted(struct db *db, const char *id, struct error **err);

/* Nothing is left of it. */
int archive_row_forget(struct db *db, const char *id, struct error **err);

/* How many fail by the storage. */
int archive_row_failing(struct db *db, uint64_t *count, struct error **err);

int archive_row_knows(struct db *db, const char *key, bool *known, struct error **err);

/* The next copies that are whole by their ids, behind `after` ("": from the first). */
int archive_row_list(struct db *db, const char *after, unsigned limit, struct archive *list,
                     unsigned *count, struct error **err);
