/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/usage_kept.h"

#include "base/clock.h"

DB_STATEMENT(begin_kept_statement) = {
    "usage.begin_kept",
    "INSERT INTO usage_intervals (sandbox_id, incarnation, team_id, kind, cpu, memory_mb, disk_gb,"
    " size_mb, started_at_ms) VALUES (?, 0, ?, ?, 0, 0, ?, ?, ?)"};
DB_STATEMENT(end_kept_statement) = {
    "usage.end_kept", "UPDATE usage_intervals SET ended_at_ms = GREATEST(?, started_at_ms)"
                      " WHERE sandbox_id = ? AND incarnation = 0 AND ended_at_ms IS NULL"};
DB_STATEMENT(read_kept_statement) = {
    "usage.read_kept",
    "SELECT COUNT(DISTINCT sandbox_id), CAST(COALESCE(SUM(span_ms), 0) AS UNSIGNED),"
    " CAST(COALESCE(SUM(span_ms * kept_mb), 0) AS UNSIGNED) FROM ("
    "   SELECT sandbox_id, size_mb + disk_gb * 1024 AS kept_mb,"
    "     LEAST(ended_at_ms, ?) - GREATEST(started_at_ms, ?) AS span_ms"
    "   FROM usage_intervals WHERE team_id = ? AND ended_at_ms > ? AND started_at_ms < ?"
    "     AND kind = ?"
    "   UNION ALL"
    "   SELECT sandbox_id, size_mb + disk_gb * 1024,"
    "     CAST(? AS SIGNED) - GREATEST(started_at_ms, ?)"
    "   FROM usage_intervals WHERE team_id = ? AND ended_at_ms IS NULL AND started_at_ms < ?"
    "     AND kind = ?"
    " ) u"};

static const char *const kept_names[] = {
    [USAGE_CHECKPOINT] = "snapshot", [USAGE_VOLUME] = "volume"};

static int begin_kept(struct db *db, const char *id, const char *team_id, enum usage_kept kind,
                      uint32_t disk_gb, uint32_t size_mb, struct error **err)
{
    return db_exec(db, &begin_kept_statement,
                   DB_ARGS(db_text(id), db_text(team_id), db_text(kept_names[kind]),
                           db_u64(disk_gb), db_u64(size_mb), db_i64(clock_now_ms())),
                   NULL, err);
}

int usage_checkpoint_begin(struct db *db, const char *checkpoint_id, const char *team_id,
                           uint32_t size_mb, struct error **err)
{
    return begin_kept(db, checkpoint_id, team_id, USAGE_CHECKPOINT, 0, size_mb, err);
}

int usage_volume_begin(struct db *db, const char *volume_id, const char *team_id, uint32_t size_gb,
                       struct error **err)
{
    return begin_kept(db, volume_id, team_id, USAGE_VOLUME, size_gb, 0, err);
}

int usage_kept_end(struct db *db, const char *id, struct error **err)
{
    return db_exec(db, &end_kept_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(id)), NULL,
                   err);
}

int usage_read_kept(struct db *db, const char *team_id, enum usage_kept kind, int64_t from_ms,
                    int64_t to_ms, struct usage_total *usage, struct error **err)
{
    db_rows_auto *rows = NULL;
    struct db_value team = db_text(team_id), from = db_i64(from_ms), to = db_i64(to_ms);
    struct db_value name = db_text(kept_names[kind]);
    *usage = (struct usage_total){0};
    if (db_query(db, &read_kept_statement,
                 DB_ARGS(to, from, team, from, to, name, to, from, team, to, name), &rows, err) < 0)
        return -1;
    if (db_rows_next(rows))
        *usage = (struct usage_total){db_get_u64(rows, 0), db_get_u64(rows, 1),
                                      (double)db_get_u64(rows, 2)};
    return 0;
}
