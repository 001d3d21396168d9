/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/panic.h"
#include "db/lease.h"
#include "host/host.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox_columns.h"
#include "sandbox/sandbox_row.h"

#define SELECT_SANDBOX "SELECT " SANDBOX_COLUMNS " FROM sandboxes s" SANDBOX_JOINS

DB_STATEMENT(get_statement) = {"sandbox.get", SELECT_SANDBOX " WHERE s.id = ? AND s.visible = 1"};
DB_STATEMENT(get_any_statement) = {"sandbox.get_any", SELECT_SANDBOX " WHERE s.id = ?"};
/* Two rows by their keys; the first one always exists. */
DB_STATEMENT(look_statement) = {
    "sandbox.look", "SELECT a.revision, " SANDBOX_OWN_COLUMNS
                    " FROM access_revision a LEFT JOIN sandboxes s ON s.id = ? WHERE a.id = 1"};
DB_STATEMENT(look_version_statement) = {
    "sandbox.look_version",
    "SELECT a.revision, s.version FROM access_revision a LEFT JOIN sandboxes s ON s.id = ?"
    " WHERE a.id = 1"};
DB_STATEMENT(lock_statement) = {"sandbox.lock", "SELECT " SANDBOX_LOCKED_COLUMNS
                                                " FROM sandboxes s WHERE s.id = ? FOR UPDATE"};
static const struct lease_table deadlines = LEASE_TEAMS(
    "sandbox.deadline", "sandboxes", "id", "deadline_at_ms", "state = 'ready'", "team_id");

/* For the columns of the table: their names, a placeholder for each, and their values. */
#define NOTHING_2(expression, read)
#define NOTHING_3(column, read, write)
#define NOTHING_5(alias, column, table, key, read)
#define NAME(column, read, write)       ", " column
#define PLACE(column, read, write)      ", ?"
#define ASSIGNMENT(column, read, write) ", " column " = ?"
#define VALUE(column, read, write)      write,
#define INSERTED(x)                     SANDBOX_TABLE(NOTHING_5, NOTHING_2, x, x, NOTHING_3, x)
#define MOVED(x)                        SANDBOX_TABLE(NOTHING_5, NOTHING_2, NOTHING_3, x, x, NOTHING_3)
#define CHANGED(x)                      SANDBOX_TABLE(NOTHING_5, NOTHING_2, NOTHING_3, NOTHING_3, NOTHING_3, x)

/* A new row is shown, and reserved. */
DB_STATEMENT(insert_statement) = {"sandbox.insert",
                                  "INSERT INTO sandboxes (visible, reserved, envs_sealed" INSERTED(
                                      NAME) ") VALUES (1, 1, ?" INSERTED(PLACE) ")"};
DB_STATEMENT(update_statement) = {
    "sandbox.update",
    "UPDATE sandboxes SET version = UUID_SHORT(), visible = ?" MOVED(ASSIGNMENT) " WHERE id = ?"};
DB_STATEMENT(update_policy_statement) = {
    "sandbox.update_policy",
    "UPDATE sandboxes SET version = UUID_SHORT()" CHANGED(ASSIGNMENT) " WHERE id = ?"};
DB_STATEMENT(update_ports_statement) = {
    "sandbox.update_ports",
    "UPDATE sandboxes SET version = UUID_SHORT(), ports = ?, updated_at_ms = ? WHERE id = ?"};
DB_STATEMENT(clear_metadata_statement) = {"sandbox.clear_metadata",
                                          "DELETE FROM sandbox_metadata WHERE sandbox_id = ?"};
DB_STATEMENT(index_metadata_statement) = {
    "sandbox.index_metadata",
    "INSERT INTO sandbox_metadata (sandbox_id, name, team_id, value) VALUES (?, ?, ?, ?)"};
DB_STATEMENT(forget_tokens_statement) = {"sandbox.forget_tokens",
                                         "DELETE FROM sandbox_token_keys WHERE sandbox_id = ?"};
DB_STATEMENT(destroyed_statement) = {
    "sandbox.destroyed",
    "UPDATE sandboxes SET version = UUID_SHORT(), envs_sealed = NULL, network = '{}',"
    " metadata = '{}', hooks = NULL, destroyed_at_ms = ? WHERE id = ?"};
DB_STATEMENT(of_route_statement) = {"sandbox.of_route", "SELECT id FROM sandboxes WHERE route = ?"};
DB_STATEMENT(agent_statement) = {
    "sandbox.agent",
    "SELECT s.envs_sealed, p.process_log_kib FROM sandboxes s JOIN teams t ON t.id = s.team_id"
    " JOIN plans p ON p.name = t.plan WHERE s.id = ?"};

DB_STATEMENT(of_instance_statement) = {
    "sandbox.of_instance",
    "SELECT s.id, s.state FROM sandboxes s WHERE s.instance_name = ? AND s.state <> 'destroyed'"
    " AND (? = 0 OR s.host_id = ? OR EXISTS (SELECT 1 FROM operations o"
    "   WHERE o.id = s.operation_id AND o.state = 'running' AND o.host_id = ?))"};
/* The firewall of the new host can still have an older policy of the sandbox. */
DB_STATEMENT(rehost_statement) = {
    "sandbox.rehost",
    "UPDATE sandboxes SET version = UUID_SHORT(), host_id = ?, network_applied = 0 WHERE id = ?"};

DB_STATEMENT(leave_memory_statement) = {
    "sandbox.leave_memory",
    "UPDATE sandboxes SET version = UUID_SHORT(), memory_left = 1 WHERE id = ?"
    " AND operation_id = ?"};
DB_STATEMENT(ready_on_host_statement) = {
    "sandbox.ready_on_host",
    "SELECT id, instance_name, incarnation, created_at_ms, team_id, address, agent_key_id,"
    " silent_since_ms IS NOT NULL, idle_timeout, idle_connections = 'ignore', hold_until_ms,"
    " pause_failures, created_by FROM sandboxes"
    " WHERE host_id = ? AND reserved = 1 AND state = 'ready'"};

DB_STATEMENT(kept_on_host_statement) = {
    "sandbox.kept_on_host",
    "SELECT id FROM sandboxes WHERE host_id = ? AND visible = 1 AND id > ? ORDER BY id LIMIT ?"};

DB_STATEMENTS(statements) = {&deadlines.line, &deadlines.due};

static struct db_value text_or_null(const char *text)
{
    return db_text(*text ? text : NULL);
}

static struct db_value time_or_null(int64_t at_ms)
{
    return at_ms ? db_i64(at_ms) : db_null();
}

/* --- reading --- */

static enum sandbox_state state_of(const struct db_rows *rows, unsigned column)
{
    enum sandbox_state state;
    if (sandbox_state_parse(db_get_text(rows, column), &state) < 0)
        panic("the row of a sandbox has an unknown state");
    return state;
}

#define READ_2(expression, read)                read, c++;
#define READ_3(column, read, write)             read, c++;
#define READ_5(alias, column, table, key, read) read, c++;

static void set_counted(struct sandbox *s)
{
    s->counted = (struct sandbox_counted){s->reserved == RESERVES_ALL,
                                          s->reserved != RESERVES_NOTHING, sandbox_stays_paused(s)};
}

void sandbox_row_read(const struct db_rows *rows, struct sandbox *s)
{
    unsigned c = 0;
    *s = (struct sandbox){0};
    SANDBOX_TABLE(READ_5, READ_2, READ_3, READ_3, READ_3, READ_3)
    set_counted(s);
}

void sandbox_row_read_own(const struct db_rows *rows, unsigned first, struct sandbox *s)
{
    unsigned c = first;
    *s = (struct sandbox){0};
    SANDBOX_TABLE(NOTHING_5, READ_2, READ_3, READ_3, READ_3, READ_3)
    set_counted(s);
}

static int get_one(struct db *db, const struct db_statement *statement, const char *key,
                   struct sandbox *sandbox, struct error **err)
{
    return DB_ROW(db, statement, DB_ARGS(db_text(key)), "There is no such sandbox.",
                  sandbox_row_read, sandbox, err);
}

int sandbox_get(struct db *db, const char *id, struct sandbox *sandbox, struct error **err)
{
    return get_one(db, &get_statement, id, sandbox, err);
}

int sandbox_get_any(struct db *db, const char *id, bool lock, struct sandbox *sandbox,
                    struct error **err)
{
    return get_one(db, lock ? &lock_statement : &get_any_statement, id, sandbox, err);
}

int sandbox_look(struct db *db, const char *id, struct sandbox *sandbox, uint64_t *revision,
                 struct error **err)
{
    db_rows_auto *rows = NULL;
    *sandbox = (struct sandbox){0};
    if (db_query(db, &look_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return error_set(err, ERR_INTERNAL, "the table access_revision has no row");
    *revision = db_get_u64(rows, 0);
    if (!db_is_null(rows, 1))
        sandbox_row_read_own(rows, 1, sandbox);
    return 0;
}

int sandbox_look_version(struct db *db, const char *id, uint64_t *version, uint64_t *revision,
                         struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &look_version_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return error_set(err, ERR_INTERNAL, "the table access_revision has no row");
    *revision = db_get_u64(rows, 0);
    *version = db_is_null(rows, 1) ? SANDBOX_NO_VERSION : db_get_u64(rows, 1);
    return 0;
}

int sandbox_id_of_route(struct db *db, const char *route, char id[ID_SIZE], struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &of_route_statement, DB_ARGS(db_text(route)), "There is no such sandbox.",
                     &rows, err) < 0)
        return -1;
    snprintf(id, ID_SIZE, "%s", db_get_text(rows, 0));
    return 0;
}

int sandbox_row_agent(struct db *db, const char *id, struct buffer *envs, uint32_t *log_kib,
                      struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &agent_statement, DB_ARGS(db_text(id)), "There is no such sandbox.", &rows,
                     err) < 0)
        return -1;
    size_t size;
    const void *sealed = db_get_blob(rows, 0, &size);
    *log_kib = (uint32_t)db_get_u64(rows, 1);
    if (buffer_append(envs, sealed, size) < 0)
        return error_set(err, ERR_INTERNAL, "the stored environment of %s is too large", id);
    return 0;
}

int sandbox_row_lock_due(struct db *db, char id[ID_SIZE], struct error **err)
{
    char key[LEASE_KEY_SIZE];
    if (lease_lock(db, &deadlines, key, err) < 0)
        return -1;
    snprintf(id, ID_SIZE, "%.*s", ID_SIZE - 1, key);
    return 0;
}

int sandbox_row_of_instance(struct db *db, uint32_t host_id, const char *instance_name,
                            char id[ID_SIZE], enum sandbox_state *state, struct error **err)
{
    db_rows_auto *rows = NULL;
    struct db_value host = db_u64(host_id);
    id[0] = '\0';
    if (db_query(db, &of_instance_statement, DB_ARGS(db_text(instance_name), host, host, host),
                 &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    snprintf(id, ID_SIZE, "%s", db_get_text(rows, 0));
    if (sandbox_state_parse(db_get_text(rows, 1), state) < 0)
        return error_set(err, ERR_INTERNAL, "sandbox %s is in an unknown state", id);
    return 0;
}

static void read_sandbox_ready(const struct db_rows *rows, struct sandbox_ready *ready)
{
    db_copy_text(ready->id, rows, 0);
    db_copy_text(ready->instance_name, rows, 1);
    ready->incarnation = (uint32_t)db_get_u64(rows, 2);
    ready->created_at_ms = db_get_i64(rows, 3);
    db_copy_text(ready->team_id, rows, 4);
    ready->address = (uint32_t)db_get_u64(rows, 5);
    ready->agent_key_id = (uint16_t)db_get_u64(rows, 6);
    ready->is_silent = db_get_bool(rows, 7);
    ready->idle_timeout_s = (uint32_t)db_get_u64(rows, 8);
    ready->ignores_connections = db_get_bool(rows, 9);
    ready->hold_until_ms = db_get_i64(rows, 10);
    ready->pause_failures = (uint32_t)db_get_u64(rows, 11);
    db_copy_text(ready->created_by, rows, 12);
}

int sandbox_row_ready_on_host(struct db *db, uint32_t host_id, struct sandbox_ready **list,
                              size_t *count, struct error **err)
{
    return DB_LIST(db, &ready_on_host_statement, DB_ARGS(db_u64(host_id)), read_sandbox_ready, list,
                   count, err);
}

int sandbox_row_kept_on_host(struct db *db, uint32_t host_id, const char *after, unsigned limit,
                             char (*ids)[ID_SIZE], unsigned *count, struct error **err)
{
    *count = 0;
    return db_query_ids(db, &kept_on_host_statement,
                        DB_ARGS(db_u64(host_id), db_text(after), db_u64(limit)), limit, ids, count,
                        err);
}

/* --- writing --- */

static int insert_metadata(struct db *db, const struct sandbox *s, struct error **err)
{
    json_auto_t *metadata = json_loads(s->metadata, 0, NULL);
    const char *name;
    json_t *value;
    json_object_foreach (metadata, name, value) {
        if (db_exec(db, &index_metadata_statement,
                    DB_ARGS(db_text(s->id), db_blob(name, strlen(name)), db_text(s->team_id),
                            db_blob(json_string_value(value), json_string_length(value))),
                    NULL, err) < 0)
            return -1;
    }
    return 0;
}

/* The name is the only unique column that a client chooses. */
static int name_taken(const struct sandbox *s, struct error **err)
{
    if ((*err)->code != ERR_DB_DUPLICATE || !*s->name)
        return -1;
    error_clear(err);
    return error_set_field(err, ERR_NAME_TAKEN, "/name",
                           "The team already has a sandbox with the name %s.", s->name);
}

int sandbox_row_insert(struct db *db, const struct sandbox *s, const struct buffer *envs_sealed,
                       struct error **err)
{
    struct db_value envs =
        envs_sealed->size ? db_blob(envs_sealed->data, envs_sealed->size) : db_null();
    const struct db_value values[] = {envs, INSERTED(VALUE)};
    if (db_exec(db, &insert_statement, values, ARRAY_SIZE(values), NULL, err) < 0)
        return name_taken(s, err);
    return insert_metadata(db, s, err);
}

int sandbox_row_update(struct db *db, struct sandbox *s, struct error **err)
{
    s->updated_at_ms = clock_now_ms();
    if (reservation_follow(db, s, err) < 0)
        return -1;
    const struct db_value values[] = {db_bool(sandbox_state_is_shown(s->state)),
                                      MOVED(VALUE) db_text(s->id)};
    return db_exec(db, &update_statement, values, ARRAY_SIZE(values), NULL, err);
}

int sandbox_row_free_stopped(struct db *db, struct sandbox *s, struct error **err)
{
    if (s->state != SANDBOX_STOPPED || s->reserved == RESERVES_NOTHING)
        return 0;
    s->reserved = RESERVES_NOTHING;
    s->hold_until_ms = 0;
    return sandbox_row_update(db, s, err);
}

int sandbox_row_rehost(struct db *db, const struct sandbox *s, uint32_t host_id, struct error **err)
{
    if (host_address_move(db, s->host_id, host_id, s->instance_name, err) < 0)
        return -1;
    return db_exec(db, &rehost_statement, DB_ARGS(db_u64(host_id), db_text(s->id)), NULL, err);
}

int sandbox_row_leave_memory(struct db *db, const struct sandbox *s, struct error **err)
{
    return db_exec(db, &leave_memory_statement, DB_ARGS(db_text(s->id), db_text(s->operation_id)),
                   NULL, err);
}

int sandbox_row_index_metadata(struct db *db, const struct sandbox *s, struct error **err)
{
    if (db_exec(db, &clear_metadata_statement, DB_ARGS(db_text(s->id)), NULL, err) < 0)
        return -1;
    return sandbox_state_is_shown(s->state) ? insert_metadata(db, s, err) : 0;
}

int sandbox_row_destroyed(struct db *db, const struct sandbox *s, struct error **err)
{
    if (db_exec(db, &forget_tokens_statement, DB_ARGS(db_text(s->id)), NULL, err) < 0)
        return -1;
    return db_exec(db, &destroyed_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(s->id)), NULL,
                   err);
}

int sandbox_row_update_policy(struct db *db, const struct sandbox *s, struct error **err)
{
    const struct db_value values[] = {CHANGED(VALUE) db_text(s->id)};
    if (db_exec(db, &update_policy_statement, values, ARRAY_SIZE(values), NULL, err) < 0)
        return name_taken(s, err);
    return 0;
}

int sandbox_row_update_ports(struct db *db, const struct sandbox *s, struct error **err)
{
    char text[SANDBOX_PORTS_TEXT_SIZE];
    return db_exec(
        db, &update_ports_statement,
        DB_ARGS(db_text(sandbox_ports_to_text(s, text)), db_i64(clock_now_ms()), db_text(s->id)),
        NULL, err);
}
