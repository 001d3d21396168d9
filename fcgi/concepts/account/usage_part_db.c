/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/usage_part.h"

#include "naming/name_columns.h"

#define DAY_MS 86400000

/* The intervals that touch the span. Ended and open intervals are read separately: each uses its
 * own part of the index. */
#define INTERVALS                                                                         \
    "(SELECT sandbox_id, kind, cpu, memory_mb, disk_gb, size_mb,"                         \
    "   GREATEST(started_at_ms, ?) AS start_ms, LEAST(ended_at_ms, ?) AS end_ms"          \
    "   FROM usage_intervals WHERE team_id = ? AND ended_at_ms > ? AND started_at_ms < ?" \
    " UNION ALL SELECT sandbox_id, kind, cpu, memory_mb, disk_gb, size_mb,"               \
    "   GREATEST(started_at_ms, ?), CAST(? AS SIGNED)"                                    \
    "   FROM usage_intervals WHERE team_id = ? AND ended_at_ms IS NULL AND started_at_ms < ?) u"
#define INTERVAL_ARGS(team, from, to) from, to, team, from, to, from, to, team, to

#define RUNS                          "CASE WHEN u.kind = 'runtime' THEN "
#define SUMS(span)                                                                         \
    " CAST(SUM(" RUNS span " ELSE 0 END) AS UNSIGNED) AS runtime_ms,"                      \
    " CAST(SUM(" RUNS span " * u.cpu ELSE 0 END) AS UNSIGNED) AS vcpu_ms,"                 \
    " CAST(SUM(" RUNS span " * u.memory_mb ELSE 0 END) AS UNSIGNED) AS memory_ms,"         \
    " CAST(SUM(" RUNS "0 ELSE " span " * (u.size_mb + u.disk_gb * 1024) END) AS UNSIGNED)" \
    " AS storage_ms"

DB_STATEMENT(sources_statement) = {
    "usage.sources",
    "SELECT p.*, " NAME_OF_THING("p.id") " FROM (SELECT 0, u.sandbox_id AS id," SUMS(
        "(u.end_ms - u.start_ms)") " FROM " INTERVALS
                                   " GROUP BY u.sandbox_id ORDER BY 4 DESC, 6 DESC, 2 LIMIT ?) p"
                                   " ORDER BY 4 DESC, 6 DESC, 2"};

/* Count days from the first day of the span. An interval has a part in each day that it touches. */
#define DAY_START "GREATEST(u.start_ms, d.day_ms)"
#define DAY_END   "LEAST(u.end_ms, d.day_ms + 86400000)"
DB_STATEMENT(days_statement) = {
    "usage.days", "WITH RECURSIVE d AS (SELECT CAST(? AS SIGNED) AS day_ms UNION ALL"
                  "   SELECT day_ms + 86400000 FROM d WHERE day_ms + 86400000 < ?)"
                  " SELECT d.day_ms, ''," SUMS(
                      "(" DAY_END " - " DAY_START
                      ")") " FROM " INTERVALS
                           " JOIN d ON d.day_ms < u.end_ms AND d.day_ms + 86400000 > u.start_ms"
                           " GROUP BY d.day_ms ORDER BY d.day_ms LIMIT ?"};

DB_STATEMENT(runs_statement) = {"usage.runs",
                                "SELECT u.start_ms, u.end_ms FROM " INTERVALS
                                " WHERE u.kind = 'runtime' ORDER BY u.start_ms LIMIT ?"};

static void read_part(const struct db_rows *rows, struct usage_part *part)
{
    part->day_ms = db_get_i64(rows, 0);
    db_copy_text(part->id, rows, 1);
    part->runtime_ms = db_get_u64(rows, 2);
    part->vcpu_ms = (double)db_get_u64(rows, 3);
    part->memory_mb_ms = (double)db_get_u64(rows, 4);
    part->storage_mb_ms = (double)db_get_u64(rows, 5);
}

/* A part that is a thing: the last column has its name. */
static void read_named_part(const struct db_rows *rows, struct usage_part *part)
{
    read_part(rows, part);
    db_copy_text(part->name, rows, 6);
}

int usage_read_days(struct db *db, const char *team_id, int64_t from_ms, int64_t to_ms,
                    struct usage_part **parts, size_t *count, struct error **err)
{
    struct db_value team = db_text(team_id), from = db_i64(from_ms), to = db_i64(to_ms);
    struct db_value first_day = db_i64(from_ms - from_ms % DAY_MS);
    return DB_LIST(
        db, &days_statement,
        DB_ARGS(first_day, to, INTERVAL_ARGS(team, from, to), db_u64(USAGE_DAYS_MAX + 2)),
        read_part, parts, count, err);
}

int usage_read_sources(struct db *db, const char *team_id, int64_t from_ms, int64_t to_ms,
                       struct usage_part **parts, size_t *count, struct error **err)
{
    struct db_value team = db_text(team_id), from = db_i64(from_ms), to = db_i64(to_ms);
    return DB_LIST(db, &sources_statement,
                   DB_ARGS(INTERVAL_ARGS(team, from, to), db_u64(USAGE_PARTS_MAX)), read_named_part,
                   parts, count, err);
}

static void read_run(const struct db_rows *rows, struct usage_run *run)
{
    *run = (struct usage_run){db_get_i64(rows, 0), db_get_i64(rows, 1)};
}

int usage_read_runs(struct db *db, const char *team_id, int64_t from_ms, int64_t to_ms,
                    struct usage_run **runs, size_t *count, struct error **err)
{
    struct db_value team = db_text(team_id), from = db_i64(from_ms), to = db_i64(to_ms);
    return DB_LIST(db, &runs_statement,
                   DB_ARGS(INTERVAL_ARGS(team, from, to), db_u64(USAGE_RUNS_MAX)), read_run, runs,
                   count, err);
}
