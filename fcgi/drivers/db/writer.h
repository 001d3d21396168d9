/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Find the server that takes the writes. Only db/ includes this.
 *
 * A replica, or a secondary of Group Replication, has read_only on. A node of Galera takes writes
 * whenever it is ready, so a row that all nodes have names the writer. A program that cannot reach
 * this writer gives the row to a node that is ready. When two independent servers both take writes,
 * sandlot writes to neither.
 */
#pragma once

#include "db/connection.h"

#define WRITER_LEASE "database.writer" /* its row in leases; holder: the node's name */

enum writer_turn {
    WRITER_FOLLOW, /* a new connection: accept only the writer */
    WRITER_CLAIM,  /* a new connection: with Galera, make a node that is ready the writer */
    WRITER_STAY,   /* an open connection: check that the server is still the writer */
};

/* Return whether the options name several servers. */
bool db_has_several(const struct db *db);

/* Check whether the connected server is the writer. Errors: ERR_DB_UNAVAILABLE with the reason, or
 * as db_server_error(), which may drop the connection. */
int writer_check(struct db *db, enum writer_turn turn, struct error **err);
