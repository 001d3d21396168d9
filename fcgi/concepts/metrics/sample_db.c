/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "metrics/sample.h"

#define ROWS_AT_ONCE 500

/* After the clock was set back, a row with the same time may exist: keep it. */
DB_STATEMENT(insert_statement) = {
    "sample.insert",
    "INSERT INTO sandbox_samples (sandbox_id, at_ms, span_ms, cpu_ms, memory_bytes, cache_bytes,"
    " disk_bytes) SELECT j.id, j.at, j.span, j.cpu, j.memory, j.cache, j.disk"
    " FROM JSON_TABLE(?, '$[*]' COLUMNS ("
    "   id CHAR(30) CHARACTER SET ascii PATH '$[0]', at BIGINT PATH '$[1]',"
    "   span INT UNSIGNED PATH '$[2]', cpu INT UNSIGNED PATH '$[3]',"
    "   memory BIGINT UNSIGNED PATH '$[4]', cache BIGINT UNSIGNED PATH '$[5]',"
    "   disk BIGINT UNSIGNED PATH '$[6]')) j"
    " ON DUPLICATE KEY UPDATE sandbox_samples.span_ms = sandbox_samples.span_ms"};
DB_STATEMENT(delete_statement) = {
    "sample.delete", "DELETE FROM sandbox_samples WHERE at_ms < ? ORDER BY at_ms LIMIT ?"};
DB_STATEMENT(count_statement) = {
    "sample.count",
    "SELECT COUNT(*) FROM sandbox_samples WHERE sandbox_id = ? AND at_ms >= ? AND at_ms <= ?"};
DB_STATEMENT(read_statement) = {
    "sample.read",
    "SELECT (at_ms DIV ?) * ? AS begin_ms, CAST(SUM(span_ms) AS UNSIGNED),"
    " CAST(SUM(cpu_ms) AS UNSIGNED),"
    " CAST(MAX(CASE WHEN span_ms > 0 THEN cpu_ms * 1000 DIV span_ms END) AS UNSIGNED),"
    " CAST(AVG(memory_bytes) AS UNSIGNED), MAX(memory_bytes), CAST(AVG(cache_bytes) AS UNSIGNED),"
    " MAX(disk_bytes)"
    " FROM sandbox_samples WHERE sandbox_id = ? AND at_ms >= ? AND at_ms <= ?"
    " GROUP BY begin_ms ORDER BY begin_ms LIMIT 1000"};
DB_STATEMENT(latest_statement) = {
    "sample.latest",
    "SELECT DISTINCT s.at_ms, s.span_ms, s.cpu_ms, s.cpu_ms * 1000 DIV GREATEST(s.span_ms, 1),"
    " s.memory_bytes, s.memory_bytes, s.cache_bytes, s.disk_bytes, b.id"
    " FROM JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(30) CHARACTER SET ascii PATH '$')) j"
    " JOIN sandboxes b ON b.id = j.id AND b.team_id = ? AND b.visible = 1 AND b.state = 'ready'"
    " JOIN sandbox_samples s ON s.sandbox_id = b.id AND s.at_ms ="
    "  (SELECT MAX(l.at_ms) FROM sandbox_samples l WHERE l.sandbox_id = b.id)"
    " WHERE s.at_ms >= ? LIMIT 100"};
#define LAST_OF(id)                                                                  \
    " COALESCE((SELECT MAX(s.at_ms) FROM sandbox_samples s WHERE s.sandbox_id = " id \
    " AND s.at_ms >= u.started_at_ms), 0)"
DB_STATEMENT(last_of_run_statement) = {
    "sample.last_of_run",
    "SELECT GREATEST(" LAST_OF("u.sandbox_id") "," LAST_OF(
        "?") ")"
             " FROM usage_intervals u"
             " WHERE u.sandbox_id = ? AND u.kind = 'runtime' AND u.ended_at_ms IS NULL"
             " ORDER BY u.incarnation DESC LIMIT 1"};
DB_STATEMENT(want_statement) = {
    "sample.want",
    "INSERT INTO sample_wants (sandbox_id, asked_at_ms) VALUES (?, ?) ON DUPLICATE KEY UPDATE"
    " asked_at_ms = IF(asked_at_ms < ?, VALUES(asked_at_ms), asked_at_ms)"};
/* Teams take turns: one with many sandboxes leaves room to others. */
DB_STATEMENT(wanted_statement) = {
    "sample.wanted",
    "SELECT o.sandbox_id FROM (SELECT w.sandbox_id,"
    "   ROW_NUMBER() OVER (PARTITION BY s.team_id ORDER BY w.asked_at_ms DESC, w.sandbox_id)"
    "   AS place FROM sample_wants w JOIN sandboxes s ON s.id = w.sandbox_id"
    "   WHERE w.asked_at_ms >= ? AND s.state = 'ready') o"
    " ORDER BY o.place, o.sandbox_id LIMIT ?"};
DB_STATEMENT(delete_wants_statement) = {"sample.delete_wants",
                                        "DELETE FROM sample_wants WHERE asked_at_ms < ?"};

static json_t *row_json(const struct sample_row *row)
{
    return json_pack("[s, I, I, I, I, I, o]", row->sandbox_id, (json_int_t)row->at_ms,
                     (json_int_t)row->span_ms, (json_int_t)row->cpu_ms,
                     (json_int_t)row->memory_bytes, (json_int_t)row->cache_bytes,
                     row->has_disk ? json_integer((json_int_t)row->disk_bytes) : json_null());
}

int sample_insert(struct db *db, const struct sample_row *rows, size_t count, struct error **err)
{
    for (size_t done = 0; done < count;) {
        json_auto_t *list = json_array();
        for (size_t end = done + ROWS_AT_ONCE; done < count && done < end; done++)
            json_array_append_new(list, row_json(&rows[done]));
        autofree char *text = json_dumps(list, JSON_COMPACT);
        if (db_exec(db, &insert_statement, DB_ARGS(db_text(text)), NULL, err) < 0)
            return -1;
    }
    return 0;
}

int sample_delete_before(struct db *db, int64_t at_ms, uint64_t limit, uint64_t *removed,
                         struct error **err)
{
    return db_exec(db, &delete_statement, DB_ARGS(db_i64(at_ms), db_u64(limit)), removed, err);
}

int sample_want(struct db *db, const char *sandbox_id, struct error **err)
{
    int64_t now_ms = clock_now_ms();
    return db_exec(db, &want_statement,
                   DB_ARGS(db_text(sandbox_id), db_i64(now_ms), db_i64(now_ms - SAMPLE_SOON_MS)),
                   NULL, err);
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(a, b);
}

int sample_wanted(struct db *db, int64_t since_ms, unsigned limit, sample_id **ids, size_t *count,
                  struct error **err)
{
    db_rows_auto *rows = NULL;
    *ids = NULL;
    *count = 0;
    if (db_query(db, &wanted_statement, DB_ARGS(db_i64(since_ms), db_u64(limit)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        *ids = xreallocarray(*ids, *count + 1, sizeof **ids);
        db_copy_text((*ids)[*count], rows, 0);
        ++*count;
    }
    if (*count)
        qsort(*ids, *count, sizeof **ids, compare_ids);
    return 0;
}

int sample_delete_wants_before(struct db *db, int64_t at_ms, struct error **err)
{
    return db_exec(db, &delete_wants_statement, DB_ARGS(db_i64(at_ms)), NULL, err);
}

/* Choose the length of a piece of time. 1 ms: each sample is a point. */
static int choose_step(struct db *db, const char *sandbox_id, int64_t from_ms, int64_t to_ms,
                       int64_t *step_ms, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &count_statement, DB_ARGS(db_text(sandbox_id), db_i64(from_ms), db_i64(to_ms)),
                 &rows, err) < 0)
        return -1;
    *step_ms = 1;
    if (!db_rows_next(rows) || db_get_u64(rows, 0) <= SAMPLE_POINTS_MAX)
        return 0;
    /* Pieces start at multiples of their length, so a span may touch one piece more. */
    int64_t pieces = SAMPLE_POINTS_MAX - 1;
    int64_t step_s = ((to_ms - from_ms) / 1000 + pieces) / pieces;
    *step_ms = step_s * 1000;
    return 0;
}

static void read_point(const struct db_rows *rows, int64_t from_ms, struct sample_point *point)
{
    int64_t begin_ms = db_get_i64(rows, 0);
    uint64_t span_ms = db_get_u64(rows, 1);
    *point = (struct sample_point){
        .at_ms = begin_ms > from_ms ? begin_ms : from_ms,
        .has_cpu = span_ms > 0,
        .vcpus = span_ms ? (double)db_get_u64(rows, 2) / (double)span_ms : 0,
        .vcpus_max = (double)db_get_u64(rows, 3) / 1000,
        .memory_bytes = db_get_u64(rows, 4),
        .memory_bytes_max = db_get_u64(rows, 5),
        .cache_bytes = db_get_u64(rows, 6),
        .has_disk = !db_is_null(rows, 7),
        .disk_bytes = db_get_u64(rows, 7),
    };
    /* vcpus is exact, vcpus_max is rounded down to thousandths. */
    if (point->vcpus_max < point->vcpus)
        point->vcpus_max = point->vcpus;
}

int sample_read(struct db *db, const char *sandbox_id, int64_t from_ms, int64_t to_ms,
                struct sample_point **points, size_t *count, int64_t *step_ms, struct error **err)
{
    db_rows_auto *rows = NULL;
    int64_t step;
    *points = NULL;
    *count = 0;
    if (choose_step(db, sandbox_id, from_ms, to_ms, &step, err) < 0 ||
        db_query(db, &read_statement,
                 DB_ARGS(db_i64(step), db_i64(step), db_text(sandbox_id), db_i64(from_ms),
                         db_i64(to_ms)),
                 &rows, err) < 0)
        return -1;
    *points = xcalloc(SAMPLE_POINTS_MAX, sizeof **points);
    while (*count < SAMPLE_POINTS_MAX && db_rows_next(rows))
        read_point(rows, from_ms, &(*points)[(*count)++]);
    *step_ms = step == 1 ? 0 : step;
    return 0;
}

int sample_read_latest(struct db *db, const char *team_id, const char *ids, int64_t since_ms,
                       struct sample_latest *latest, unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &latest_statement, DB_ARGS(db_text(ids), db_text(team_id), db_i64(since_ms)),
                 &rows, err) < 0)
        return -1;
    for (*count = 0; *count < SAMPLE_LATEST_MAX && db_rows_next(rows); ++*count) {
        read_point(rows, 0, &latest[*count].point);
        db_copy_text(latest[*count].sandbox_id, rows, 8);
    }
    return 0;
}

int sample_last_of_run(struct db *db, const char *sandbox_id, uint32_t host_id, int64_t *at_ms,
                       struct error **err)
{
    char host[ID_SIZE];
    sample_host_id(host_id, host);
    return DB_NUMBER(db, &last_of_run_statement, DB_ARGS(db_text(host), db_text(sandbox_id)), at_ms,
                     err);
}
