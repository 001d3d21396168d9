/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sandboxes that are paused, into the archive, and out of it again. */
#pragma once

#include "sandbox/lifecycle_steps.h"

/* Make one copy of a sandbox that is paused for long enough, or go on with one whose worker is
 * gone. *worked: there was one. */
int sandbox_archive_next(struct worker *worker, bool *worked, struct error **err);

/* Before the instance of a stopped sandbox starts: where its host does not have it, or is not the
 * one that had it, it is fetched from the archive. Needs work_open_runtime(). Errors:
 * ERR_SANDBOX_NOT_STARTABLE (the copy is gone or damaged), those of the storage. */
int work_fetch_archived(struct work *work, struct error **err);

/* A stopped sandbox of a lost host that is in the archive is another host's from now on. *gone: it
 * is; otherwise it is on no lost host, or in no archive. Errors: ERR_NO_CAPACITY. */
int sandbox_leave_lost_host(struct worker *worker, const char *id, bool *gone, struct error **err);

/* --- rows --- */

/* Whose turn it is: the sandbox that is paused for longest, since before then, of the team that has
 * waited for longest; id "": there is none. */
int sandbox_row_archivable(struct db *db, int64_t before_ms, char id[ID_SIZE], struct error **err);

enum sandbox_archived { ARCHIVED_NOT, ARCHIVED_ROW, ARCHIVED_NEVER };
/* Inside a transaction that holds the sandbox's row. */
int sandbox_row_archived(struct db *db, const struct sandbox *sandbox,
                         enum sandbox_archived archived, struct error **err);

/* The sandbox's team has had its turn. */
int sandbox_row_archive_turn(struct db *db, const char *team_id, struct error **err);

extern const struct db_statement_list sandbox_archive_statements;
