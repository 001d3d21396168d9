/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a test of the database begins with: a server of its own, and a connection to it. */
#pragma once

#include "unit/unit.h"

#include "unit/db/server.h"

static struct server *server;
static struct db *db;

/* Group fixture; server_teardown() ends it. */
static int own_server(void **state)
{
    if (server_setup(state) < 0)
        return -1;
    server = *state;
    return 0;
}

/* Fixture of a test that opened db. */
static inline int close_db(void **state)
{
    (void)state;
    db_close(db);
    return 0;
}
