/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "account/usage.h"

/* Only the last interval of a sandbox can be open. The statements read no other, because a sandbox
 * that is often paused has very many. If the clock was set back, end an interval at its start. */
DB_STATEMENT(close_statement) = {
    "usage.close", "UPDATE usage_intervals u JOIN (SELECT MAX(m.incarnation) AS incarnation"
                   "   FROM usage_intervals m WHERE m.sandbox_id = ?) l"
                   "   ON u.sandbox_id = ? AND u.incarnation = l.incarnation"
                   " SET u.ended_at_ms = GREATEST(?, u.started_at_ms)"
                   " WHERE u.ended_at_ms IS NULL AND u.kind <> ?"};
/* Begin where the last interval ends, even if the clock was set back. */
DB_STATEMENT(open_statement) = {
    "usage.open",
    "INSERT INTO usage_intervals (sandbox_id, incarnation, team_id, kind, cpu, memory_mb, disk_gb,"
    " started_at_ms) SELECT s.id, s.incarnation, s.team_id, ?, s.cpu, s.memory_mb, s.disk_gb,"
    " GREATEST(?, COALESCE(u.ended_at_ms, 0))"
    " FROM sandboxes s LEFT JOIN usage_intervals u ON u.sandbox_id = s.id AND u.incarnation ="
    "   (SELECT MAX(m.incarnation) FROM usage_intervals m WHERE m.sandbox_id = ?)"
    " WHERE s.id = ? AND (u.sandbox_id IS NULL OR u.ended_at_ms IS NOT NULL)"};
DB_STATEMENT(begin_statement) = {
    "usage.begin",
    "INSERT INTO usage_intervals (sandbox_id, incarnation, team_id, kind, cpu, memory_mb, disk_gb,"
    " started_at_ms) VALUES (?, ?, ?, 'runtime', ?, ?, ?, ?)"};
/* Read ended and open intervals separately: each uses its own part of the index. */
DB_STATEMENT(read_statement) = {
    "usage.read",
    "SELECT kind, cpu, memory_mb, disk_gb, COUNT(DISTINCT sandbox_id),"
    " CAST(SUM(LEAST(end_ms, ?) - GREATEST(started_at_ms, ?)) AS UNSIGNED) FROM ("
    "   SELECT sandbox_id, kind, cpu, memory_mb, disk_gb, started_at_ms, ended_at_ms AS end_ms"
    "   FROM usage_intervals WHERE team_id = ? AND ended_at_ms > ? AND started_at_ms < ?"
    "     AND kind IN ('runtime', 'storage')"
    "   UNION ALL"
    "   SELECT sandbox_id, kind, cpu, memory_mb, disk_gb, started_at_ms, CAST(? AS SIGNED)"
    "   FROM usage_intervals WHERE team_id = ? AND ended_at_ms IS NULL AND started_at_ms < ?"
    "     AND kind IN ('runtime', 'storage')"
    " ) u GROUP BY kind, cpu, memory_mb, disk_gb ORDER BY kind, cpu, memory_mb, disk_gb"
    " LIMIT 10000"};

static const char *const kind_names[] = {
    [USAGE_RUNTIME] = "runtime", [USAGE_STORAGE] = "storage", [USAGE_NONE] = ""};

int usage_begin(struct db *db, const struct usage_begin *begin, struct error **err)
{
    const struct runtime_resources *resources = begin->resources;
    return db_exec(db, &begin_statement,
                   DB_ARGS(db_text(begin->sandbox_id), db_u64(begin->incarnation),
                           db_text(begin->team_id), db_u64(resources->cpu),
                           db_u64(resources->memory_mb), db_u64(resources->disk_gb),
                           db_i64(begin->at_ms)),
                   NULL, err);
}

int usage_follow(struct db *db, const char *sandbox_id, enum usage_kind kind, int64_t at_ms,
                 struct error **err)
{
    if (kind == USAGE_UNCHANGED)
        return 0;
    struct db_value id = db_text(sandbox_id), at = db_i64(at_ms), name = db_text(kind_names[kind]);
    if (db_exec(db, &close_statement, DB_ARGS(id, id, at, name), NULL, err) < 0)
        return -1;
    if (kind == USAGE_NONE)
        return 0;
    return db_exec(db, &open_statement, DB_ARGS(name, at, id, id), NULL, err);
}

static void read_usage(const struct db_rows *rows, struct usage *usage)
{
    *usage = (struct usage){
        .kind = strcmp(db_get_text(rows, 0), "storage") ? USAGE_RUNTIME : USAGE_STORAGE,
        .resources = {(unsigned)db_get_u64(rows, 1), (unsigned)db_get_u64(rows, 2),
                      (unsigned)db_get_u64(rows, 3)},
        .sandboxes = db_get_u64(rows, 4),
        .total_ms = db_get_u64(rows, 5),
    };
}

int usage_read(struct db *db, const char *team_id, int64_t from_ms, int64_t to_ms,
               struct usage **list, size_t *count, struct error **err)
{
    return DB_LIST(db, &read_statement,
                   DB_ARGS(db_i64(to_ms), db_i64(from_ms), db_text(team_id), db_i64(from_ms),
                           db_i64(to_ms), db_i64(to_ms), db_text(team_id), db_i64(to_ms)),
                   read_usage, list, count, err);
}
