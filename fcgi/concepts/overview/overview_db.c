/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "overview/overview_db.h"

#include "base/mem.h"
#include "overview/overview.h"

DB_STATEMENT(states_statement) = {
    "overview.states",
    "SELECT state, COUNT(*) FROM sandboxes WHERE state <> 'destroyed' GROUP BY state ORDER BY state"
    " LIMIT ?"};
DB_STATEMENT(operations_statement) = {
    "overview.operations",
    "SELECT kind, COUNT(*),"
    " CAST(SUM(CASE WHEN lease_until_ms < ? THEN 1 ELSE 0 END) AS UNSIGNED)"
    " FROM operations WHERE state = 'running' GROUP BY kind ORDER BY kind LIMIT ?"};
DB_STATEMENT(due_statement) = {
    "overview.due", "SELECT COUNT(*) FROM sandboxes WHERE state = 'ready' AND deadline_at_ms < ?"};

/* A create without a warm instance names its instance after the sandbox. */
DB_STATEMENT(demands_statement) = {
    "overview.demands",
    "SELECT d.template_slug, d.cpu, d.memory_mb, d.disk_gb, d.n, d.warm, (SELECT COUNT(*)"
    "   FROM warm_instances w WHERE w.template_version_id = d.template_version_id"
    "   AND w.cpu = d.cpu AND w.memory_mb = d.memory_mb AND w.disk_gb = d.disk_gb"
    "   AND w.state = 'ready')"
    " FROM (SELECT template_slug, template_version_id, cpu, memory_mb, disk_gb, COUNT(*) AS n,"
    "   CAST(SUM(CASE WHEN instance_name LIKE 'warm-%' THEN 1 ELSE 0 END) AS UNSIGNED) AS warm"
    "   FROM sandboxes WHERE id >= ? AND snapshot_id IS NULL"
    "   GROUP BY template_slug, template_version_id, cpu, memory_mb, disk_gb) d"
    " ORDER BY d.n DESC, d.template_slug, d.memory_mb, d.cpu, d.disk_gb LIMIT ?"};

DB_STATEMENT(teams_statement) = {
    "overview.teams",
    "SELECT t.id, t.slug, t.plan, t.used_sandboxes, t.stopped_sandboxes, t.created_at_ms,"
    " (SELECT COUNT(*) FROM memberships m WHERE m.team_id = t.id)"
    " FROM teams t WHERE t.slug > ? AND t.removed_at_ms IS NULL ORDER BY t.slug LIMIT ?"};

#define SANDBOX_COLUMNS                                                                     \
    "SELECT s.id, t.slug, s.state, s.template_slug, v.version, s.cpu, s.memory_mb, h.name," \
    " s.instance_name, s.address, s.created_at_ms, s.deadline_at_ms, s.name"                \
    " FROM sandboxes s JOIN teams t ON t.id = s.team_id"                                    \
    " JOIN template_versions v ON v.id = s.template_version_id"                             \
    " JOIN hosts h ON h.id = s.host_id WHERE s.visible = 1 AND s.id < ?"
DB_STATEMENT(sandboxes_statement) = {"overview.sandboxes",
                                     SANDBOX_COLUMNS " ORDER BY s.id DESC LIMIT ?"};
DB_STATEMENT(team_sandboxes_statement) = {"overview.team_sandboxes", SANDBOX_COLUMNS
                                          " AND t.slug = ? ORDER BY s.id DESC LIMIT ?"};
DB_STATEMENT(host_sandboxes_statement) = {
    "overview.host_sandboxes",
    SANDBOX_COLUMNS " AND h.name = ? AND (? = '' OR t.slug = ?) ORDER BY s.id DESC LIMIT ?"};

DB_STATEMENT(put_report_statement) = {
    "overview.put_report",
    "INSERT INTO reports (name, made_at_ms, body) VALUES (?, ?, ?)"
    " ON DUPLICATE KEY UPDATE made_at_ms = VALUES(made_at_ms), body = VALUES(body)"};
DB_STATEMENT(get_report_statement) = {"overview.get_report",
                                      "SELECT made_at_ms, body FROM reports WHERE name = ?"};

int overview_count_states(struct db *db, struct state_count counts[OVERVIEW_STATES_MAX],
                          unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &states_statement, DB_ARGS(db_u64(OVERVIEW_STATES_MAX)), &rows, err) < 0)
        return -1;
    for (*count = 0; db_rows_next(rows); ++*count) {
        db_copy_text(counts[*count].state, rows, 0);
        counts[*count].count = db_get_u64(rows, 1);
    }
    return 0;
}

int overview_count_operations(struct db *db, int64_t now_ms,
                              struct operation_count counts[OVERVIEW_KINDS_MAX], unsigned *count,
                              struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &operations_statement, DB_ARGS(db_i64(now_ms), db_u64(OVERVIEW_KINDS_MAX)),
                 &rows, err) < 0)
        return -1;
    for (*count = 0; db_rows_next(rows); ++*count) {
        db_copy_text(counts[*count].kind, rows, 0);
        counts[*count].running = db_get_u64(rows, 1);
        counts[*count].overdue = db_get_u64(rows, 2);
    }
    return 0;
}

int overview_count_due(struct db *db, int64_t before_ms, uint64_t *count, struct error **err)
{
    return DB_NUMBER(db, &due_statement, DB_ARGS(db_i64(before_ms)), count, err);
}

int overview_demands(struct db *db, int64_t since_ms, struct demand demands[OVERVIEW_DEMANDS_MAX],
                     unsigned *count, struct error **err)
{
    char since[ID_SIZE];
    db_rows_auto *rows = NULL;
    *count = 0;
    id_floor("sbx_", since_ms, since);
    if (db_query(db, &demands_statement, DB_ARGS(db_text(since), db_u64(OVERVIEW_DEMANDS_MAX)),
                 &rows, err) < 0)
        return -1;
    while (*count < OVERVIEW_DEMANDS_MAX && db_rows_next(rows)) {
        struct demand *demand = &demands[(*count)++];
        db_copy_text(demand->template_slug, rows, 0);
        demand->cpu = (uint32_t)db_get_u64(rows, 1);
        demand->memory_mb = (uint32_t)db_get_u64(rows, 2);
        demand->disk_gb = (uint32_t)db_get_u64(rows, 3);
        demand->creates = db_get_u64(rows, 4);
        demand->warm = db_get_u64(rows, 5);
        demand->waiting = db_get_u64(rows, 6);
    }
    return 0;
}

int overview_teams(struct db *db, const char *after, unsigned limit, struct team_row **teams,
                   unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &teams_statement, DB_ARGS(db_text(after), db_u64(limit)), &rows, err) < 0)
        return -1;
    *teams = xcalloc(limit, sizeof **teams);
    for (*count = 0; *count < limit && db_rows_next(rows); ++*count) {
        struct team_row *row = &(*teams)[*count];
        db_copy_text(row->team.id, rows, 0);
        db_copy_text(row->team.slug, rows, 1);
        db_copy_text(row->team.plan, rows, 2);
        row->sandboxes = db_get_u64(rows, 3);
        row->stopped_sandboxes = db_get_u64(rows, 4);
        row->created_at_ms = db_get_i64(rows, 5);
        row->members = db_get_u64(rows, 6);
    }
    return 0;
}

static void read_sandbox(const struct db_rows *rows, struct operated_sandbox *s)
{
    *s = (struct operated_sandbox){0};
    unsigned c = 0;
    db_copy_text(s->id, rows, c++);
    db_copy_text(s->team, rows, c++);
    db_copy_text(s->state, rows, c++);
    db_copy_text(s->template_slug, rows, c++);
    s->template_version = (uint32_t)db_get_u64(rows, c++);
    s->cpu = (uint32_t)db_get_u64(rows, c++);
    s->memory_mb = (uint32_t)db_get_u64(rows, c++);
    db_copy_text(s->host, rows, c++);
    db_copy_text(s->instance, rows, c++);
    s->address = (uint32_t)db_get_u64(rows, c++);
    s->created_at_ms = db_get_i64(rows, c++);
    s->deadline_at_ms = db_get_i64(rows, c++);
    db_copy_text(s->name, rows, c++);
}

static int query_sandboxes(struct db *db, const struct operated_filter *filter, uint64_t limit,
                           struct db_rows **rows, struct error **err)
{
    /* "~" sorts behind every character of an id. */
    struct db_value end = db_text(filter->before ? filter->before : "~");
    struct db_value team = db_text(filter->team ? filter->team : "");
    if (filter->host)
        return db_query(db, &host_sandboxes_statement,
                        DB_ARGS(end, db_text(filter->host), team, team, db_u64(limit)), rows, err);
    return filter->team
               ? db_query(db, &team_sandboxes_statement, DB_ARGS(end, team, db_u64(limit)), rows,
                          err)
               : db_query(db, &sandboxes_statement, DB_ARGS(end, db_u64(limit)), rows, err);
}

int overview_sandboxes(struct db *db, const struct operated_filter *filter, uint64_t limit,
                       struct operated_sandbox **sandboxes, unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (query_sandboxes(db, filter, limit, &rows, err) < 0)
        return -1;
    *sandboxes = NULL;
    for (*count = 0; db_rows_next(rows); ++*count) {
        *sandboxes = xreallocarray(*sandboxes, *count + 1, sizeof **sandboxes);
        read_sandbox(rows, &(*sandboxes)[*count]);
    }
    return 0;
}

/* --- reports --- */

int overview_report_put(struct db *db, const char *name, int64_t at_ms, const json_t *report,
                        struct error **err)
{
    autofree char *body = json_dumps(report, JSON_COMPACT);
    return db_exec(db, &put_report_statement, DB_ARGS(db_text(name), db_i64(at_ms), db_text(body)),
                   NULL, err);
}

int overview_report_get(struct db *db, const char *name, int64_t *at_ms, json_t **report,
                        struct error **err)
{
    db_rows_auto *rows = NULL;
    *report = NULL;
    *at_ms = 0;
    if (db_query(db, &get_report_statement, DB_ARGS(db_text(name)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    *at_ms = db_get_i64(rows, 0);
    *report = json_loads(db_get_text(rows, 1), 0, NULL);
    return *report ? 0 : error_set(err, ERR_INTERNAL, "the report %s is not JSON", name);
}
