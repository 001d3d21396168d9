/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/host_answers.h"
#include "sandbox/sandbox_archive.h"

DB_STATEMENT(on_lost_host_statement) = {
    "sandbox.on_lost_host",
    "SELECT l.id FROM (SELECT s.id, ROW_NUMBER() OVER (PARTITION BY s.team_id"
    "   ORDER BY s.stopped_at_ms DESC, s.id) AS n FROM hosts h JOIN sandboxes s ON s.host_id = h.id"
    "   JOIN archives a ON a.current_of = s.id WHERE h.lost_at_ms IS NOT NULL"
    "   AND s.state = 'stopped' AND a.state = 'whole') l ORDER BY l.n, RAND() LIMIT ?"};

DB_STATEMENT(evictable_statement) = {
    "sandbox.evictable",
    "SELECT l.id FROM (SELECT s.id, s.stopped_at_ms, SUM(a.plain_bytes)"
    "   OVER (PARTITION BY s.host_id, s.team_id) AS held FROM host_pools p"
    "   JOIN hosts h ON h.id = p.host_id JOIN sandboxes s ON s.host_id = p.host_id"
    "   JOIN archives a ON a.current_of = s.id"
    "   WHERE h.lost_at_ms IS NULL AND " HOST_ANSWERS(
        "h.") "   AND p.used_mb > p.total_mb * ? / 100 + (SELECT COALESCE(SUM(e.plain_bytes), 0) / "
              "1048576"
              "     FROM archives e JOIN sandboxes o ON o.id = e.current_of"
              "     WHERE e.evicted_at_ms >= p.measured_at_ms AND o.host_id = p.host_id)"
              "   AND s.state = 'stopped' AND a.state = 'whole' AND a.evicted_at_ms IS NULL"
              "   AND a.incarnation = s.incarnation) l ORDER BY l.held DESC, l.stopped_at_ms, l.id "
              "LIMIT ?"};

int sandbox_row_on_lost_host(struct db *db, unsigned limit, char (*ids)[ID_SIZE], unsigned *count,
                             struct error **err)
{
    *count = 0;
    return db_query_ids(db, &on_lost_host_statement, DB_ARGS(db_u64(limit)), limit, ids, count,
                        err);
}

int sandbox_row_evictable(struct db *db, unsigned percent, unsigned limit, char (*ids)[ID_SIZE],
                          unsigned *count, struct error **err)
{
    *count = 0;
    return db_query_ids(db, &evictable_statement, DB_ARGS(db_u64(percent), db_u64(limit)), limit,
                        ids, count, err);
}
