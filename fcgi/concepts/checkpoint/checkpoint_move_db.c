/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checkpoint/checkpoint_move.h"
#include "checkpoint/checkpoint_row.h"
#include "host/host_answers.h"

/* Each team has its turn, however many checkpoints it has. Teams without a copy in progress come
 * first; chance decides between equals. */
DB_STATEMENT(leaving_statement) = {
    "checkpoint_move.leaving",
    "SELECT l.id FROM (SELECT c.id, c.team_id, ROW_NUMBER() OVER (PARTITION BY c.team_id"
    "   ORDER BY c.id) AS n FROM hosts h JOIN checkpoints c ON c.host_id = h.id"
    "   JOIN template_versions v ON v.id = c.template_version_id"
    "   WHERE ((h.leaving > 0 AND h.lost_at_ms IS NULL AND " HOST_ANSWERS(
        "h.") ") OR (h.lost_at_ms IS NOT NULL AND EXISTS (SELECT 1 FROM archives a"
              "     WHERE a.current_of = c.id AND a.state = 'whole')))"
              "   AND c.state IN ('ready', 'kept') AND v.virtual_machine = 0"
              "   AND NOT EXISTS (SELECT 1 FROM moves m WHERE m.id = c.id"
              "     AND (m.state <> 'failed' OR m.finished_at_ms > ?))) l"
              " ORDER BY EXISTS (SELECT 1 FROM moves m WHERE m.team_id = l.team_id"
              "   AND m.state = 'copying'), l.n, RAND() LIMIT ?"};
DB_STATEMENT(rehost_statement) = {"checkpoint_move.rehost",
                                  "UPDATE checkpoints SET host_id = ? WHERE id = ? AND host_id = ?"
                                  " AND state IN ('ready', 'kept')"};
DB_STATEMENT(in_use_statement) = {
    "checkpoint_move.in_use",
    "SELECT 1 FROM sandboxes s JOIN operations o ON o.id = s.operation_id"
    " WHERE s.snapshot_id = ? AND s.host_id = ? AND s.state = 'restoring'"
    " AND o.kind IN ('create', 'fork', 'rollback')"
    " UNION ALL"
    " SELECT 1 FROM template_versions v WHERE v.checkpoint_id = ? AND v.state = 'building'"
    "   AND v.attempts > 0 LIMIT 1"};

int checkpoint_row_leaving(struct db *db, int64_t failed_before_ms, unsigned limit,
                           char (*ids)[ID_SIZE], unsigned *count, struct error **err)
{
    return move_leaving_ids(db, &leaving_statement, failed_before_ms, limit, ids, count, err);
}

int checkpoint_row_rehost(struct db *db, const char *id, uint32_t from_host, uint32_t to_host,
                          struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &rehost_statement, DB_ARGS(db_u64(to_host), db_text(id), db_u64(from_host)),
                &matched, err) < 0)
        return -1;
    return matched ? 0 : error_set(err, ERR_NOT_FOUND, "There is no such checkpoint.");
}

int checkpoint_row_in_use_on(struct db *db, const char *id, uint32_t host_id, bool *in_use,
                             struct error **err)
{
    return db_query_finds(db, &in_use_statement, DB_ARGS(db_text(id), db_u64(host_id), db_text(id)),
                          in_use, err);
}
