/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A database with our schema in it, on the test's own server, for tests of what is above db/. */
#pragma once

#include "unit/unit.h"

#include "base/log.h"
#include "base/mem.h"
#include "db/migrate.h"
#include "unit/db/server.h"

static struct server *schema_server;

/* Group fixture: start the server and bring its database to our schema. */
static int schema_setup(void **state)
{
    error_auto err = NULL;
    const char *source = getenv("SANDLOT_SOURCE_DIR");
    autofree char *directory = xasprintf("%s/sql", source ? source : ".");
    log_configure(LOG_LEVEL_WARNING, LOG_FORMAT_TEXT);
    if (server_setup(state) < 0)
        return -1;
    schema_server = *state;
    struct db *db = server_open(schema_server);
    int result = db_migrate(db, directory, NULL, &err);
    if (result < 0)
        print_error("%s: %s\n", directory, err->message);
    db_close(db);
    return result;
}

/* One more connection to it. */
static inline struct db *schema_open(void)
{
    return server_open(schema_server);
}

static int schema_teardown(void **state)
{
    *state = schema_server;
    return server_teardown(state);
}
