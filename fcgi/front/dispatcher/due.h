/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a dispatcher has to do at this moment, in one statement: with nothing to do that is all it
 * asks. */
#pragma once

#include "db/db.h"

struct due {
    bool operations, forks, moves, moves_asked, moves_begun, drains, volumes, checkpoints, builds,
        recipes, removals, policies, sizes;
    int64_t deadline_at_ms; /* the next that is to be acted on; 0: none */
};

int due_look(struct db *db, struct due *due, struct error **err);

extern const struct db_statement_list due_statements;
