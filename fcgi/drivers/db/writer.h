/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Of several servers the one that takes the writes. Only db/ includes this.
 *
 * A replica, or a secondary of Group Replication, has read_only on. A node of Galera takes writes
 * whenever it is ready, so which one does is a row that all nodes have: who finds none of it that
 * answers gives the row to a node that is ready. Of two servers that know nothing of each other and
 * both take writes, neither is written to.
 */
#pragma once

#include "db/connection.h"

#define WRITER_LEASE "database.writer" /* its row in leases; holder: the node's name */

enum writer_turn {
    WRITER_FOLLOW, /* a new connection: only to the writer */
    WRITER_CLAIM,  /* likewise, and of Galera the first that is ready becomes it */
    WRITER_STAY,   /* is it still? */
};

bool db_has_several(const struct db *db);

/* Whether what db is connected to is the writer. Errors: ERR_DB_UNAVAILABLE with the reason; the
 * connection may be dropped. */
int writer_check(struct db *db, enum writer_turn turn, struct error **err);
