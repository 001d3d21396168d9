/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the login of the programs may do, table by table, given by the login that migrates. */
#pragma once

#include "db/db.h"

struct db_table_right {
    const char *table;
    const char *rights; /* beside SELECT: "INSERT"; NULL: none */
};

/* Let the account of `run` read every table, write to all but those in `exceptions` (ended by a row
 * without a table), which it may use as they say, and call procedures; and take back whatever else
 * it holds on the database as a whole. admin holds all of that and may give it. Errors: ERR_CONFIG
 * (an account whose name cannot be quoted), those of the database. */
int db_grant_run(struct db *admin, struct db *run, const struct db_table_right *exceptions,
                 struct error **err);
