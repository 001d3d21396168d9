/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Grant the programs' database user its rights, table by table, as the user of migrations. */
#pragma once

#include "db/db.h"

struct db_table_right {
    const char *table;
    const char *rights; /* in addition to SELECT: "INSERT"; NULL: none */
};

/* Let the account of `run` read every table and call procedures. Let it write to all tables except
 * those in `exceptions`, which have their own rights. A row without a table ends `exceptions`.
 * Revoke all its other rights on the whole database. admin must have these rights with the grant
 * option. Errors: ERR_CONFIG (an account whose name cannot be quoted), those of the database. */
int db_grant_run(struct db *admin, struct db *run, const struct db_table_right *exceptions,
                 struct error **err);
