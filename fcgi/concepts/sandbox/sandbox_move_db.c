/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "host/host_answers.h"
#include "sandbox/sandbox_row.h"

/* Teams take turns, independent of their number of sandboxes. Teams without a running move come
 * first, in random order. A team's sandboxes move in the order in which they were stopped, because
 * the last one used may be wanted first. */
#define OF_LEAVING(leaving, state, also, order)                                           \
    "SELECT l.id FROM (SELECT s.id, s.team_id, ROW_NUMBER() OVER (PARTITION BY s.team_id" \
    "   ORDER BY " order ", s.id) AS n FROM hosts h JOIN sandboxes s ON s.host_id = h.id" \
    "   JOIN template_versions v ON v.id = s.template_version_id"                         \
    "   WHERE h.leaving >= " leaving " AND h.lost_at_ms IS NULL AND " HOST_ANSWERS(       \
        "h.") "   AND s.state = '" state "'" also "   AND v.virtual_machine = 0"          \
              "   AND NOT EXISTS (SELECT 1 FROM operations o WHERE o.sandbox_id = s.id"   \
              "     AND o.kind = 'move' AND o.state = 'failed' AND o.finished_at_ms > ?)" \
              "   AND NOT EXISTS (SELECT 1 FROM moves m WHERE m.id = s.id"                \
              "     AND (m.state <> 'failed' OR m.finished_at_ms > ?))) l"                \
              " ORDER BY EXISTS (SELECT 1 FROM sandboxes o WHERE o.team_id = l.team_id"   \
              "   AND o.state = 'moving'), l.n, RAND() LIMIT ?"

DB_STATEMENT(leaving_statement) = {
    "sandbox.leaving",
    OF_LEAVING("1", "stopped", " AND s.volume_mounts = '{}'", "s.stopped_at_ms")};
DB_STATEMENT(running_statement) = {"sandbox.leaving_running",
                                   OF_LEAVING("2", "ready", "", "s.created_at_ms")};
/* Their volumes have moved to another host, and they have not yet. */
DB_STATEMENT(following_statement) = {
    "sandbox.following",
    "SELECT DISTINCT s.id FROM moves m JOIN volumes v ON v.id = m.id"
    " JOIN sandbox_volumes a ON a.team_id = v.team_id AND a.volume_id = v.id"
    " JOIN sandboxes s ON s.id = a.sandbox_id"
    " WHERE m.kind = 'volume' AND m.state = 'clearing' AND s.state = 'stopped'"
    " AND s.host_id <> v.host_id"
    " AND NOT EXISTS (SELECT 1 FROM operations o WHERE o.sandbox_id = s.id"
    "   AND o.kind = 'move' AND o.state = 'failed' AND o.finished_at_ms > ?) LIMIT ?"};
DB_STATEMENT(volumes_host_statement) = {
    "sandbox.volumes_host",
    "SELECT v.id, v.host_id FROM sandbox_volumes a JOIN volumes v ON v.id = a.volume_id"
    " WHERE a.sandbox_id = ? ORDER BY v.id LIMIT 1"};

int sandbox_row_leaving(struct db *db, int64_t failed_before_ms, unsigned limit,
                        char (*ids)[ID_SIZE], unsigned *count, struct error **err)
{
    struct db_value since = db_i64(failed_before_ms);
    *count = 0;
    if (db_query_ids(db, &following_statement, DB_ARGS(since, db_u64(limit)), limit, ids, count,
                     err) < 0)
        return -1;
    return db_query_ids(db, &leaving_statement, DB_ARGS(since, since, db_u64(limit)), limit, ids,
                        count, err);
}

int sandbox_row_leaving_running(struct db *db, int64_t failed_before_ms, unsigned limit,
                                char (*ids)[ID_SIZE], unsigned *count, struct error **err)
{
    struct db_value since = db_i64(failed_before_ms);
    *count = 0;
    return db_query_ids(db, &running_statement, DB_ARGS(since, since, db_u64(limit)), limit, ids,
                        count, err);
}

int sandbox_row_first_volume(struct db *db, const struct sandbox *sandbox, char id[ID_SIZE],
                             uint32_t *host_id, struct error **err)
{
    db_rows_auto *rows = NULL;
    *id = '\0';
    *host_id = sandbox->host_id;
    if (!sandbox_has_volumes(sandbox))
        return 0;
    if (db_query(db, &volumes_host_statement, DB_ARGS(db_text(sandbox->id)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    snprintf(id, ID_SIZE, "%s", db_get_text(rows, 0));
    *host_id = (uint32_t)db_get_u64(rows, 1);
    return 0;
}

int sandbox_row_volumes_host(struct db *db, const struct sandbox *sandbox, uint32_t *host_id,
                             struct error **err)
{
    char id[ID_SIZE];
    return sandbox_row_first_volume(db, sandbox, id, host_id, err);
}
