/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/ctl_db.h"
#include "moving/moving.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"

DB_STATEMENT(outcome_statement) = {
    "ctl.outcome",
    "SELECT o.state, o.sandbox_id, o.last_error, s.resumed_from, o.finished_at_ms"
    " FROM operations o JOIN sandboxes s ON s.id = o.sandbox_id"
    " WHERE o.kind = ? AND o.state IN ('done', 'failed') ORDER BY o.id DESC LIMIT 1"};

DB_STATEMENT(lost_memory_statement) = {
    "ctl.lost_memory",
    "SELECT COUNT(*) OVER (), kind, sandbox_id, last_error, finished_at_ms FROM operations"
    " WHERE id >= ? AND kind IN ('pause', 'resume') AND state = 'done' AND last_error <> ''"
    " ORDER BY id DESC LIMIT 1"};

DB_STATEMENT(stuck_statement) = {
    "ctl.stuck",
    "SELECT o.kind, o.sandbox_id, h.name, o.attempts, o.last_error FROM operations o"
    " JOIN sandboxes s ON s.id = o.sandbox_id JOIN hosts h ON h.id = s.host_id"
    " WHERE o.state = 'running' AND o.attempts >= ? ORDER BY o.attempts DESC, o.id LIMIT ?"};
DB_STATEMENT(named_statement) = {
    "ctl.sandbox_named", "SELECT s.id FROM sandboxes s JOIN teams t ON t.id = s.team_id"
                         " WHERE t.slug = ? AND t.removed_at_ms IS NULL AND s.taken_name = ?"};
DB_STATEMENT(warm_statement) = {
    "ctl.warm", "SELECT COUNT(CASE WHEN state = 'ready' THEN 1 END),"
                " COUNT(CASE WHEN state = 'starting' THEN 1 END) FROM warm_instances"};

/* A move that failed is tried again in a minute. The row of a move shows objects that are leaving
 * the host or have left data there. */
#define MOVE_WHY                                                                          \
    " CASE WHEN m.state IN ('copying', 'copied') THEN 3 WHEN m.state = 'clearing' THEN 3" \
    " WHEN m.state = 'failed' AND m.finished_at_ms > ? THEN 6"
DB_STATEMENT(staying_statement) = {
    "ctl.staying",
    "SELECT 0, s.id, t.slug, s.state, CASE WHEN s.state = 'moving' OR m.state = 'copying' THEN 3"
    " WHEN s.state = 'destroying' THEN 9"
    " WHEN v.virtual_machine THEN 2 WHEN s.volume_mounts <> '{}'"
    "   AND (h.leaving < 2 OR s.state <> 'ready') THEN 1 WHEN s.state <> 'stopped' AND (h.leaving "
    "< 2 OR s.state <> 'ready') THEN 0"
    " WHEN m.state = 'failed' AND m.finished_at_ms > ? THEN 6"
    " WHEN o.id IS NOT NULL THEN 6 ELSE 4 END,"
    " COALESCE(NULLIF(m.last_error, ''), o.last_error, ''), s.address, s.cpu, s.memory_mb,"
    " s.disk_gb, s.name"
    " FROM sandboxes s JOIN teams t ON t.id = s.team_id JOIN hosts h ON h.id = s.host_id"
    " JOIN template_versions v ON v.id = s.template_version_id"
    " LEFT JOIN moves m ON m.id = s.id"
    " LEFT JOIN operations o ON o.id = (SELECT MAX(f.id) FROM operations f"
    "   WHERE f.sandbox_id = s.id AND f.kind = 'move' AND f.state = 'failed'"
    "   AND f.finished_at_ms > ?)"
    " WHERE s.host_id = ? AND s.state <> 'destroyed'"
    " UNION ALL SELECT 1, c.id, t.slug, c.state," MOVE_WHY " WHEN c.state <> 'ready' THEN 9"
    "   WHEN v.virtual_machine THEN 2 ELSE 4 END, COALESCE(m.last_error, ''), 0, 0, 0, 0,"
    " COALESCE(c.name, '')"
    " FROM checkpoints c JOIN teams t ON t.id = c.team_id"
    " JOIN template_versions v ON v.id = c.template_version_id LEFT JOIN moves m ON m.id = c.id"
    " WHERE c.host_id = ? AND c.state <> 'deleted'"
    " UNION ALL SELECT 2, v.id, t.slug, v.state," MOVE_WHY
    "   WHEN v.state <> 'ready' THEN 9 WHEN EXISTS (SELECT 1 FROM sandbox_volumes a"
    "     JOIN sandboxes s ON s.id = a.sandbox_id WHERE a.team_id = v.team_id"
    "     AND a.volume_id = v.id AND s.state NOT IN ('stopped', 'destroyed')) THEN 8"
    "   ELSE 4 END, COALESCE(m.last_error, ''), 0, 0, 0, v.size_gb, v.name"
    " FROM volumes v JOIN teams t ON t.id = v.team_id LEFT JOIN moves m ON m.id = v.id"
    " WHERE v.host_id = ? AND v.state <> 'deleted'"
    " UNION ALL SELECT 3, v.id, w.slug, 'ready'," MOVE_WHY
    "   ELSE 4 END, COALESCE(m.last_error, ''), 0, 0, 0, 0, e.slug"
    " FROM template_sources t JOIN template_versions v ON v.id = t.template_version_id"
    " JOIN templates e ON e.id = v.template_id JOIN teams w ON w.id = e.owner"
    " LEFT JOIN moves m ON m.id = v.id"
    " WHERE t.host_id = ? AND v.state = 'ready' AND NOT EXISTS (SELECT 1 FROM template_sources o"
    "   JOIN hosts a ON a.id = o.host_id WHERE o.template_version_id = v.id"
    "   AND o.host_id <> t.host_id AND a.state = 'active')"
    " UNION ALL SELECT 3, m.id, t.slug, 'moved', IF(m.state = 'clearing', 7, 3), m.last_error,"
    "   0, 0, 0, 0, '' FROM moves m JOIN teams t ON t.id = m.team_id WHERE m.from_host_id = ?"
    " AND ((m.state = 'clearing' AND m.clear_host_id = m.from_host_id) OR (m.kind = 'sandbox'"
    "   AND m.state = 'copying' AND NOT EXISTS (SELECT 1 FROM sandboxes s WHERE s.id = m.id"
    "     AND s.host_id = m.from_host_id)))"};

/* No DB_STATEMENT: the service's account must be refused. */
static const struct db_statement change_audit_statement = {"ctl.change_audit",
                                                           "DELETE FROM audit_log WHERE FALSE"};

/* Not among those that are checked: it is refused where all is well. */
bool ctl_db_may_change_audit(struct db *db)
{
    error_auto refused = NULL;
    return db_exec(db, &change_audit_statement, DB_NO_ARGS, NULL, &refused) == 0;
}

DB_STATEMENT(clock_statement) = {"ctl.clock", "SELECT " DB_NOW_MS};

DB_STATEMENT(directory_statement) = {"ctl.directory", "SELECT @@global.datadir"};

/* The server's own estimates, which cost nothing. */
DB_STATEMENT(tables_statement) = {
    "ctl.tables",
    "SELECT table_name, CAST(COALESCE(table_rows, 0) AS UNSIGNED),"
    " CAST(COALESCE(data_length + index_length, 0) AS UNSIGNED) FROM information_schema.tables"
    " WHERE table_schema = DATABASE() ORDER BY 3 DESC, 1 LIMIT ?"};

int ctl_db_tables(struct db *db, unsigned most, struct buffer *text, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &tables_statement, DB_ARGS(db_u64(most)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows))
        buffer_printf(text, "%s%s %" PRIu64 " KiB (%" PRIu64 " rows)", text->size ? ", " : "",
                      db_get_text(rows, 0), db_get_u64(rows, 2) / 1024, db_get_u64(rows, 1));
    return 0;
}

int ctl_db_staying(struct db *db, uint32_t host_id, struct ctl_staying **list, unsigned *count,
                   struct error **err)
{
    db_rows_auto *rows = NULL;
    struct db_value host = db_u64(host_id), since = db_i64(clock_now_ms() - MOVE_AGAIN_MS);
    if (db_query(db, &staying_statement,
                 DB_ARGS(since, since, host, since, host, since, host, since, host, host), &rows,
                 err) < 0)
        return -1;
    *list = NULL;
    for (*count = 0; db_rows_next(rows); ++*count) {
        *list = xreallocarray(*list, *count + 1, sizeof **list);
        struct ctl_staying *one = &(*list)[*count];
        one->is_sandbox = db_get_u64(rows, 0) == 0;
        one->is_volume = db_get_u64(rows, 0) == 2;
        db_copy_text(one->id, rows, 1);
        db_copy_text(one->team, rows, 2);
        db_copy_text(one->state, rows, 3);
        one->why = (enum ctl_stays)db_get_u64(rows, 4);
        db_copy_text(one->failure, rows, 5);
        one->address = (uint32_t)db_get_u64(rows, 6);
        one->resources =
            (struct runtime_resources){(unsigned)db_get_u64(rows, 7), (unsigned)db_get_u64(rows, 8),
                                       (unsigned)db_get_u64(rows, 9)};
        db_copy_text(one->name, rows, 10);
    }
    return 0;
}

int ctl_db_latest_outcome(struct db *db, const char *kind, struct ctl_outcome *outcome,
                          struct error **err)
{
    db_rows_auto *rows = NULL;
    *outcome = (struct ctl_outcome){0};
    if (db_query(db, &outcome_statement, DB_ARGS(db_text(kind)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    outcome->found = true;
    outcome->done = db_get_text(rows, 0)[0] == 'd';
    db_copy_text(outcome->sandbox_id, rows, 1);
    db_copy_text(outcome->last_error, rows, 2);
    db_copy_text(outcome->resumed_from, rows, 3);
    outcome->at_ms = db_get_i64(rows, 4);
    return 0;
}

int ctl_db_lost_memory(struct db *db, int64_t since_ms, struct ctl_lost_memory *lost,
                       struct error **err)
{
    db_rows_auto *rows = NULL;
    char floor[ID_SIZE];
    *lost = (struct ctl_lost_memory){0};
    if (db_query(db, &lost_memory_statement, DB_ARGS(db_text(id_floor("opr_", since_ms, floor))),
                 &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    lost->count = db_get_u64(rows, 0);
    db_copy_text(lost->kind, rows, 1);
    db_copy_text(lost->sandbox_id, rows, 2);
    db_copy_text(lost->reason, rows, 3);
    lost->at_ms = db_get_i64(rows, 4);
    return 0;
}

int ctl_db_stuck(struct db *db, unsigned least_attempts, struct ctl_stuck *list, unsigned limit,
                 unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &stuck_statement, DB_ARGS(db_u64(least_attempts), db_u64(limit)), &rows, err) <
        0)
        return -1;
    for (*count = 0; db_rows_next(rows); ++*count) {
        struct ctl_stuck *stuck = &list[*count];
        db_copy_text(stuck->kind, rows, 0);
        db_copy_text(stuck->sandbox_id, rows, 1);
        db_copy_text(stuck->host, rows, 2);
        stuck->attempts = (uint32_t)db_get_u64(rows, 3);
        db_copy_text(stuck->last_error, rows, 4);
    }
    return 0;
}

int ctl_db_sandbox_named(struct db *db, const char *team_slug, const char *name, char id[ID_SIZE],
                         struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &named_statement, DB_ARGS(db_text(team_slug), db_text(name)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return error_set(err, ERR_NOT_FOUND, "The team %s has no sandbox with the name %s.",
                         team_slug, name);
    snprintf(id, ID_SIZE, "%s", db_get_text(rows, 0));
    return 0;
}

int ctl_db_clock(struct db *db, int64_t *now_ms, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &clock_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    *now_ms = db_rows_next(rows) ? db_get_i64(rows, 0) : 0;
    return 0;
}

int ctl_db_directory(struct db *db, char *path, size_t size, struct error **err)
{
    return db_query_text(db, &directory_statement, DB_NO_ARGS, path, size, err);
}

int ctl_db_count_warm(struct db *db, uint64_t *ready, uint64_t *starting, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &warm_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    *ready = db_get_u64(rows, 0);
    *starting = db_get_u64(rows, 1);
    return 0;
}
