/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The work that is due, read in one statement. Without due work the dispatcher runs no other
 * statement. */
#pragma once

#include "db/db.h"

enum due_kind {
    DUE_UNKNOWN,   /* the job looks for its work itself */
    DUE_DEADLINES, /* a deadline has passed */
#define DUE(name, condition) name,
#include "dispatcher/due.def"
#undef DUE
    DUE_COUNT
};

struct due {
    bool work[DUE_COUNT];   /* by the rows of due.def */
    int64_t deadline_at_ms; /* the next deadline of a sandbox; 0: no sandbox has one */
};

/* Read the work that is due. Errors: those of db_query(). */
int due_look(struct db *db, struct due *due, struct error **err);

/* Return whether work of a kind may be due; always true for DUE_UNKNOWN. */
bool due_has(const struct due *due, enum due_kind kind);
