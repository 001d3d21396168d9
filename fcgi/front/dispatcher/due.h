/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a dispatcher has to do at this moment, read by one statement: with nothing to do, the
 * dispatcher runs no other one. */
#pragma once

#include "db/db.h"

enum due_kind {
    DUE_UNKNOWN,   /* a job that looks for its work itself */
    DUE_DEADLINES, /* a deadline has passed */
#define DUE(name, condition) name,
#include "dispatcher/due.def"
#undef DUE
    DUE_COUNT
};

struct due {
    bool work[DUE_COUNT];   /* of the rows of due.def */
    int64_t deadline_at_ms; /* the next deadline of a sandbox; 0: none */
};

int due_look(struct db *db, struct due *due, struct error **err);

/* Whether there may be work of a kind now. */
bool due_has(const struct due *due, enum due_kind kind);
