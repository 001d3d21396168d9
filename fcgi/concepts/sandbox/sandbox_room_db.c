/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/host_answers.h"
#include "sandbox/sandbox_room.h"

/* A host that does not answer returns no room soon. */
DB_STATEMENT(hosts_statement) = {
    "room.hosts",
    "SELECT 1 FROM hosts h JOIN sandboxes s ON s.host_id = h.id"
    " WHERE h.state = 'active' AND " HOST_ANSWERS("h.") " AND s.reserved = 2"
                                                        " AND s.state = 'destroying' LIMIT 1"};
DB_STATEMENT(team_statement) = {"room.team",
                                "SELECT 1 FROM sandboxes s WHERE s.team_id = ? AND s.reserved = 1"
                                " AND s.state = 'destroying' LIMIT 1"};

int sandbox_room_is_coming(struct db *db, const char *team_id, const struct error *refusal,
                           bool *coming, struct error **err)
{
    *coming = false;
    switch (refusal->code) {
    case ERR_NO_CAPACITY:
        return db_query_finds(db, &hosts_statement, DB_NO_ARGS, coming, err);
    case ERR_SANDBOX_QUOTA_EXCEEDED:
        return db_query_finds(db, &team_statement, DB_ARGS(db_text(team_id)), coming, err);
    default:
        return 0;
    }
}
