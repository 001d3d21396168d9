/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A database with our schema in it, on the test's own server, for tests of what is above db/. */
#pragma once

#include "unit/unit.h"

#include "base/log.h"
#include "base/mem.h"
#include "db/migrate.h"
#include "unit/db/own_server.h"

static MYSQL *raw; /* beside db, for what the test itself asks */

/* Group fixture: start the server, bring its database to our schema, and open db and raw. */
static int schema_setup(void **state)
{
    error_auto err = NULL;
    const char *source = getenv("SANDLOT_SOURCE_DIR");
    autofree char *directory = xasprintf("%s/sql", source ? source : ".");
    log_configure(LOG_LEVEL_WARNING, LOG_FORMAT_TEXT);
    if (own_server(state) < 0)
        return -1;
    db = server_open(server);
    int result = db_migrate(db, directory, NULL, &err);
    if (result < 0)
        print_error("%s: %s\n", directory, err->message);
    raw = server_raw(server);
    return result;
}

static int schema_teardown(void **state)
{
    mysql_close(raw);
    db_close(db);
    return server_teardown(state);
}

/* The rows and index entries that the statements of db have read, for a test of their cost. */
static inline uint64_t schema_reads(void)
{
    static const struct db_statement status = {"test.status",
                                               "SHOW SESSION STATUS LIKE 'Handler_read%'"};
    struct error *err = NULL;
    db_rows_auto *rows = NULL;
    uint64_t sum = 0;
    assert_ok(db_query(db, &status, DB_NO_ARGS, &rows, &err));
    while (db_rows_next(rows))
        sum += strtoull(db_get_text(rows, 1), NULL, 10);
    return sum;
}

/* A test: the database takes every statement of the program. */
static inline void every_statement_can_be_prepared(void **state)
{
    error_auto err = NULL;
    (void)state;
    assert_ok(db_check_statements(db, &err));
}
