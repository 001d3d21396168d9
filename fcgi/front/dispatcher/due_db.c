/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "dispatcher/due.h"

static const struct db_statement look_statement = {
    "due.look",
    "SELECT EXISTS (SELECT 1 FROM operations WHERE state = 'running' AND lease_until_ms <= ?"
    "   AND kind NOT IN ('fork', 'move')),"
    " EXISTS (SELECT 1 FROM operations WHERE state = 'running' AND lease_until_ms <= ?"
    "   AND kind = 'fork'),"
    " EXISTS (SELECT 1 FROM operations WHERE state = 'running' AND lease_until_ms <= ?"
    "   AND kind = 'move'),"
    " EXISTS (SELECT 1 FROM volumes WHERE state IN ('creating', 'deleting')"
    "   AND lease_until_ms <= ?),"
    " EXISTS (SELECT 1 FROM checkpoints WHERE state IN ('creating', 'forking', 'deleting')"
    "   AND lease_until_ms <= ?),"
    " EXISTS (SELECT 1 FROM template_versions WHERE state = 'building' AND lease_until_ms <= ?),"
    " EXISTS (SELECT 1 FROM template_recipes WHERE state <> 'done' AND lease_until_ms <= ?),"
    " EXISTS (SELECT 1 FROM template_versions WHERE state = 'deleting' AND lease_until_ms <= ?),"
    " EXISTS (SELECT 1 FROM sandboxes WHERE network_due_at_ms <= ?)"
    " OR EXISTS (SELECT 1 FROM host_addresses WHERE policy_due_at_ms <= ?),"
    " (SELECT MIN(deadline_at_ms) FROM sandboxes WHERE state = 'ready'),"
    " EXISTS (SELECT 1 FROM hosts WHERE leaving > 0 AND lost_at_ms IS NULL)"
    " OR EXISTS (SELECT STRAIGHT_JOIN 1 FROM hosts h JOIN sandboxes s ON s.host_id = h.id"
    "   JOIN archives a ON a.current_of = s.id WHERE h.lost_at_ms IS NOT NULL"
    "   AND s.state = 'stopped' AND a.state = 'whole')"
    " OR EXISTS (SELECT STRAIGHT_JOIN 1 FROM hosts h JOIN checkpoints c ON c.host_id = h.id"
    "   JOIN archives a ON a.current_of = c.id WHERE h.lost_at_ms IS NOT NULL"
    "   AND c.state = 'ready' AND a.state = 'whole')"
    " OR EXISTS (SELECT 1 FROM moves WHERE kind = 'volume' AND state = 'clearing'),"
    " EXISTS (SELECT 1 FROM moves WHERE state IN ('copying', 'clearing') AND asked = 1"
    "   AND lease_until_ms <= ?),"
    " EXISTS (SELECT 1 FROM moves WHERE state IN ('copying', 'clearing') AND asked = 0"
    "   AND lease_until_ms <= ?),"
    " EXISTS (SELECT 1 FROM sandbox_sizes WHERE due_at_ms <= ?)",
    true};

static const struct db_statement *const statements[] = {&look_statement};
const struct db_statement_list due_statements = DB_STATEMENT_LIST(statements);

int due_look(struct db *db, struct due *due, struct error **err)
{
    db_rows_auto *rows = NULL;
    struct db_value now = db_i64(clock_now_ms());
    if (db_query(db, &look_statement,
                 DB_ARGS(now, now, now, now, now, now, now, now, now, now, now, now, now), &rows,
                 err) < 0)
        return -1;
    db_rows_next(rows);
    *due = (struct due){
        .operations = db_get_bool(rows, 0),
        .forks = db_get_bool(rows, 1),
        .moves = db_get_bool(rows, 2),
        .volumes = db_get_bool(rows, 3),
        .checkpoints = db_get_bool(rows, 4),
        .builds = db_get_bool(rows, 5),
        .recipes = db_get_bool(rows, 6),
        .removals = db_get_bool(rows, 7),
        .policies = db_get_bool(rows, 8),
        .deadline_at_ms = db_get_i64(rows, 9),
        .drains = db_get_bool(rows, 10),
        .moves_asked = db_get_bool(rows, 11),
        .moves_begun = db_get_bool(rows, 12),
        .sizes = db_get_bool(rows, 13),
    };
    return 0;
}
