/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "db/lease.h"
#include "host/host.h"
#include "host/host_answers.h"
#include "volume/volume_columns.h"
#include "volume/volume_row.h"

/* How long a client should wait before it tries again while no host takes volumes. */
#define CAPACITY_RETRY_S 5

#define SELECT_VOLUME    "SELECT " VOLUME_COLUMNS " FROM volumes v" VOLUME_JOINS

DB_STATEMENT(get_statement) = {"volume.get", SELECT_VOLUME " WHERE v.id = ? AND v.visible = 1"};
DB_STATEMENT(get_any_statement) = {"volume.get_any", SELECT_VOLUME " WHERE v.id = ?"};
/* A statement of its own takes the lock, so that it covers only the volume's row and not the
 * team's. */
DB_STATEMENT(lock_statement) = {"volume.lock", "SELECT id FROM volumes WHERE id = ? FOR UPDATE"};

/* --- creating --- */

DB_STATEMENT(lock_team_statement) = {
    "volume.lock_team", "SELECT plan FROM teams WHERE id = ? AND removed_at_ms IS NULL FOR UPDATE"};
DB_STATEMENT(name_statement) = {
    "volume.name_taken", "SELECT 1 FROM volumes WHERE team_id = ? AND name = ? AND taken = 1"};
DB_STATEMENT(count_statement) = {"volume.count",
                                 "SELECT COUNT(*) FROM volumes WHERE team_id = ? AND taken = 1"
                                 " AND name <> '" VOLUME_BUILD_CACHE "'"};
DB_STATEMENT(host_statement) = {
    "volume.host",
    "SELECT h.id FROM hosts h LEFT JOIN host_pools p ON p.host_id = h.id"
    " WHERE h.state = 'active' AND " HOST_ANSWERS(
        "h.") " ORDER BY"
              /* Hosts without room come last, so that the answer is the refusal of one if all are
               * full. */
              " p.host_id IS NOT NULL AND (p.used_mb + p.total_mb * 0.06 > p.total_mb OR"
              "   (h.disk_overcommit > 0 AND"
              "    (p.promised_gb + ?) * 1024 > p.total_mb * h.disk_overcommit)),"
              /* A sandbox can only mount volumes of one host. */
              " NOT EXISTS (SELECT 1 FROM volumes v"
              "   WHERE v.team_id = ? AND v.taken = 1 AND v.host_id = h.id),"
              " (SELECT CAST(COALESCE(SUM(v.size_gb), 0) AS UNSIGNED) FROM volumes v"
              "   WHERE v.host_id = h.id AND v.taken = 1), h.id LIMIT 1"};
DB_STATEMENT(insert_statement) = {
    "volume.insert",
    "INSERT INTO volumes (id, team_id, created_by, name, taken, state, visible, host_id, size_gb,"
    " generation, keeper_epoch, files_used_at_ms, lease_until_ms, created_at_ms)"
    " VALUES (?, ?, ?, ?, 1, 'creating', 0, ?, ?, 1, '', 0, ?, ?)"};
DB_STATEMENT(ready_statement) = {
    "volume.ready", "UPDATE volumes SET state = 'ready', visible = 1, lease_until_ms = 0"
                    " WHERE id = ? AND state = 'creating'"};

/* --- deleting --- */

DB_STATEMENT(delete_statement) = {
    "volume.delete",
    "UPDATE volumes SET state = 'deleting', visible = 0, taken = NULL, lease_until_ms = ?"
    " WHERE id = ? AND state IN ('creating', 'ready', 'deleting')"};
DB_STATEMENT(deleted_statement) = {
    "volume.deleted",
    "UPDATE volumes SET state = 'deleted', deleted_at_ms = ? WHERE id = ? AND state = 'deleting'"};
/* A volume in state creating whose lease has ended was given up, and is deleted as well. */
static const struct lease_table unfinished = LEASE_TEAMS(
    "volumes", "volumes", "id", "lease_until_ms", "state IN ('creating', 'deleting')", "team_id");
/* A worker that creates a volume keeps its lease until another one deletes the volume. */
static const struct lease_table making = {
    .renew = {"volume.keep",
              "UPDATE volumes SET lease_until_ms = ? WHERE id = ? AND state = 'creating'"},
};

/* --- the sweep --- */

DB_STATEMENT(kept_statement) = {
    "volume.kept",
    "SELECT 1 FROM volumes v WHERE v.id = ? AND v.state <> 'deleted' AND (v.host_id = ?"
    " OR EXISTS (SELECT 1 FROM moves m WHERE m.id = v.id AND m.state <> 'failed'))"};
DB_STATEMENT(on_host_statement) = {
    "volume.on_host",
    "SELECT id FROM volumes WHERE host_id = ? AND taken = 1 AND state = 'ready' LIMIT 1000000"};

DB_STATEMENTS(statements) = {&unfinished.line, &unfinished.due, &unfinished.take, &unfinished.renew,
                             &making.renew};

void volume_row_read(const struct db_rows *rows, struct volume *volume)
{
    *volume = (struct volume){0};
    unsigned c = 0;
    db_copy_text(volume->id, rows, c++);
    db_copy_text(volume->team_id, rows, c++);
    db_copy_text(volume->team_slug, rows, c++);
    db_copy_text(volume->name, rows, c++);
    volume->state =
        (enum volume_state)db_get_name(rows, c++, volume_state_names, VOLUME_STATE_COUNT);
    volume->host_id = (uint32_t)db_get_u64(rows, c++);
    volume->size_gb = (uint32_t)db_get_u64(rows, c++);
    volume->generation = db_get_u64(rows, c++);
    db_copy_text(volume->keeper_epoch, rows, c++);
    volume->files_used_at_ms = db_get_i64(rows, c++);
    volume->created_at_ms = db_get_i64(rows, c++);
}

static int get_one(struct db *db, const struct db_statement *statement, const char *id,
                   struct volume *volume, struct error **err)
{
    return DB_ROW(db, statement, DB_ARGS(db_text(id)), "There is no such volume.", volume_row_read,
                  volume, err);
}

int volume_get(struct db *db, const char *id, struct volume *volume, struct error **err)
{
    return get_one(db, &get_statement, id, volume, err);
}

int volume_get_any(struct db *db, const char *id, bool lock, struct volume *volume,
                   struct error **err)
{
    if (lock) {
        db_rows_auto *rows = NULL;
        if (db_query(db, &lock_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
            return -1;
    }
    return get_one(db, &get_any_statement, id, volume, err);
}

/* --- creating --- */

/* The lock on the team's row lasts to the end of the transaction, so names and counts are exact. */
static int read_plan(struct db *db, const char *team_id, struct plan *plan, struct error **err)
{
    char name[sizeof plan->name];
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &lock_team_statement, DB_ARGS(db_text(team_id)), "There is no such team.",
                     &rows, err) < 0)
        return -1;
    db_copy_text(name, rows, 0);
    return plan_get(db, name, plan, err);
}

static int check_quota(struct db *db, const struct volume *volume, const struct plan *plan,
                       struct error **err)
{
    unsigned count;
    if (DB_NUMBER(db, &count_statement, DB_ARGS(db_text(volume->team_id)), &count, err) < 0)
        return -1;
    if (count < plan->volumes)
        return 0;
    error_set(err, ERR_VOLUME_QUOTA_EXCEEDED,
              "The team's plan %s allows %u volumes, and the team has %u; delete one first.",
              plan->name, plan->volumes, count);
    return error_add_limit(err, plan->volumes, count);
}

static int choose_host(struct db *db, struct volume *volume, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &host_statement, DB_ARGS(db_u64(volume->size_gb), db_text(volume->team_id)),
                 &rows, err) < 0)
        return -1;
    if (db_rows_next(rows)) {
        volume->host_id = (uint32_t)db_get_u64(rows, 0);
        return 0;
    }
    error_set(err, ERR_NO_CAPACITY, "No host accepts new volumes now; try again soon.");
    (*err)->retry_after_s = CAPACITY_RETRY_S;
    return -1;
}

int volume_row_admit(struct db *db, struct volume *volume, struct error **err)
{
    struct plan plan;
    if (read_plan(db, volume->team_id, &plan, err) < 0)
        return -1;
    {
        db_rows_auto *rows = NULL;
        if (db_query(db, &name_statement, DB_ARGS(db_text(volume->team_id), db_text(volume->name)),
                     &rows, err) < 0)
            return -1;
        if (db_rows_next(rows))
            return error_set_field(err, ERR_NAME_TAKEN, "/name",
                                   "The team already has a volume with the name %s.", volume->name);
    }
    if (!volume->size_gb)
        volume->size_gb = plan.volume_gb;
    if (!str_equal(volume->name, VOLUME_BUILD_CACHE) && check_quota(db, volume, &plan, err) < 0)
        return -1;
    if (choose_host(db, volume, err) < 0)
        return -1;
    return host_disk_reserve(db, volume->host_id, volume->size_gb, err);
}

int volume_row_insert(struct db *db, const struct volume *volume, const char *created_by,
                      uint64_t lease_s, struct error **err)
{
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(volume->id), db_text(volume->team_id), db_text(created_by),
                           db_text(volume->name), db_u64(volume->host_id), db_u64(volume->size_gb),
                           db_i64(clock_in_s(lease_s)), db_i64(volume->created_at_ms)),
                   NULL, err);
}

int volume_row_ready(struct db *db, const char *id, struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &ready_statement, DB_ARGS(db_text(id)), &matched, err) < 0)
        return -1;
    return matched ? 0
                   : error_set(err, ERR_LEASE_LOST, "another process is deleting volume %s", id);
}

/* --- deleting --- */

int volume_row_delete(struct db *db, const char *id, uint64_t lease_s, struct error **err)
{
    return db_exec(db, &delete_statement,
                   DB_ARGS(db_i64(lease_s ? clock_in_s(lease_s) : 0), db_text(id)), NULL, err);
}

int volume_row_deleted(struct db *db, const char *id, struct error **err)
{
    return db_exec(db, &deleted_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(id)), NULL, err);
}

void volume_row_keep(struct db *db, const char *id, uint64_t lease_s, struct lease *lease)
{
    lease_keep(lease, db, &making, id, "", lease_s * 1000);
}

int volume_row_defer(struct db *db, const char *id, uint64_t delay_ms, struct error **err)
{
    return lease_defer(db, &unfinished, id, NULL, delay_ms, err);
}

int volume_row_take_overdue(struct db *db, uint64_t lease_s, struct volume *volume,
                            struct error **err)
{
    char id[LEASE_KEY_SIZE];
    *volume = (struct volume){0};
    if (lease_take(db, &unfinished, NULL, lease_s * 1000, id, NULL, err) < 0)
        return -1;
    if (!*id)
        return 0;
    if (volume_row_delete(db, id, lease_s, err) < 0)
        return -1;
    return volume_get_any(db, id, false, volume, err);
}

/* --- the sweep --- */

int volume_row_is_kept(struct db *db, const char *id, uint32_t host_id, bool *kept,
                       struct error **err)
{
    return db_query_finds(db, &kept_statement, DB_ARGS(db_text(id), db_u64(host_id)), kept, err);
}

int volume_row_list_on_host(struct db *db, uint32_t host_id, char (**ids)[ID_SIZE], size_t *count,
                            struct error **err)
{
    db_rows_auto *rows = NULL;
    *ids = NULL;
    *count = 0;
    if (db_query(db, &on_host_statement, DB_ARGS(db_u64(host_id)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        *ids = xreallocarray(*ids, *count + 1, sizeof **ids);
        db_copy_text((*ids)[*count], rows, 0);
        ++*count;
    }
    return 0;
}
