/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/operation.h"

#define FAILURE_MAX 500 /* bytes of last_error */
#define MOMENT_MS   700
#define TURN_MS     1000 /* about the duration of one operation */
#define TURNS_MOST  1000

DB_STATEMENT(supersede_statement) = {
    "operation.supersede",
    "UPDATE operations SET state = 'superseded', finished_at_ms = ? WHERE id = ? AND"
    " state = 'running'"};
DB_STATEMENT(insert_statement) = {
    "operation.insert",
    "INSERT INTO operations (id, sandbox_id, kind, state, incarnation, lease_owner, lease_until_ms,"
    " attempts, created_at_ms) VALUES (?, ?, ?, 'running', ?, ?, ?, ?, ?)"};
DB_STATEMENT(end_statement) = {
    "operation.end",
    "UPDATE operations SET state = ?, last_error = ?, finished_at_ms = ? WHERE id = ?"
    " AND lease_owner = ? AND state = 'running'"};
DB_STATEMENT(drop_statement) = {
    "operation.drop",
    "UPDATE operations SET state = 'failed', last_error = ?, finished_at_ms = ? WHERE id = ?"
    " AND state = 'running'"};
DB_STATEMENT(turn_statement) = {
    "operation.turn", "UPDATE operations SET lease_until_ms = ? WHERE id = ? AND lease_owner = ''"};
static const struct lease_table held_operations = LEASE_TABLE_OWNED_AS(
    "operations.held", "operations", "id", "lease_until_ms", "state = 'running'");
#define OF_SANDBOX(column) \
    "(SELECT s." column " FROM sandboxes s WHERE s.id = operations.sandbox_id)"
#define DUE(name, kinds)                                                            \
    LEASE_TENANTS_OWNED(name, "operations", "id", "lease_until_ms",                 \
                        "state = 'running' AND kind " kinds, OF_SANDBOX("team_id"), \
                        OF_SANDBOX("created_by"))
#define HAS_HOOKS                                                          \
    "EXISTS (SELECT 1 FROM sandboxes h WHERE h.id = operations.sandbox_id" \
    " AND h.hooks IS NOT NULL)"
static const struct lease_table due_operations[] = {
    [OPERATIONS_URGENT] =
        DUE("operations.urgent", "NOT IN ('destroy', 'fork', 'move') AND NOT " HAS_HOOKS),
    [OPERATIONS_ANY] =
        DUE("operations", "NOT IN ('fork', 'move') AND (kind = 'destroy' OR NOT " HAS_HOOKS ")"),
    [OPERATIONS_REMOVAL] = DUE("operations.removal", "= 'destroy'"),
    [OPERATIONS_FORK] = DUE("operations.fork", "= 'fork' AND NOT " HAS_HOOKS),
    [OPERATIONS_HOOKED] = DUE("operations.hooked", "NOT IN ('destroy', 'move') AND " HAS_HOOKS),
    [OPERATIONS_MOVE] = DUE("operations.move", "= 'move'"),
};
DB_STATEMENT(answers_statement) = {
    "operation.answers_wait",
    "SELECT 1 FROM operations WHERE state = 'running' AND ((kind = 'destroy' AND created_at_ms > ?)"
    " OR (kind IN ('create', 'fork') AND lease_until_ms > ?)) LIMIT 1"};
DB_STATEMENT(defer_statement) = {"operation.defer",
                                 "UPDATE operations SET lease_until_ms = ?, last_error = ?"
                                 " WHERE id = ? AND lease_owner = ? AND state = 'running'"};
DB_STATEMENT(await_host_statement) = {
    "operation.await_host",
    "UPDATE operations SET lease_until_ms = ?, last_error = ?, attempts = attempts - 1"
    " WHERE id = ? AND lease_owner = ? AND state = 'running'"};
DB_STATEMENT(await_hook_statement) = {
    "operation.await_hook",
    "UPDATE operations SET lease_until_ms = ?, hook_since_ms = COALESCE(hook_since_ms, ?),"
    " attempts = attempts - 1 WHERE id = ? AND lease_owner = ? AND state = 'running'"};
DB_STATEMENT(get_statement) = {
    "operation.get",
    "SELECT id, sandbox_id, kind, incarnation, COALESCE(host_id, 0), COALESCE(hook_since_ms, 0)"
    " FROM operations WHERE id = ?"};
DB_STATEMENT(makes_statement) = {
    "operation.makes", "SELECT 1 FROM operations WHERE id = ? AND kind IN ('create', 'fork')"};
DB_STATEMENT(set_host_statement) = {"operation.set_host",
                                    "UPDATE operations SET host_id = ? WHERE id = ?"};
DB_STATEMENT(outcome_statement) = {"operation.outcome",
                                   "SELECT state, last_error FROM operations WHERE id = ?"};

DB_STATEMENTS(statements) = {&held_operations.renew,
                             &due_operations[OPERATIONS_URGENT].line,
                             &due_operations[OPERATIONS_URGENT].due,
                             &due_operations[OPERATIONS_URGENT].take,
                             &due_operations[OPERATIONS_ANY].line,
                             &due_operations[OPERATIONS_ANY].due,
                             &due_operations[OPERATIONS_ANY].take,
                             &due_operations[OPERATIONS_REMOVAL].line,
                             &due_operations[OPERATIONS_REMOVAL].due,
                             &due_operations[OPERATIONS_REMOVAL].take,
                             &due_operations[OPERATIONS_FORK].line,
                             &due_operations[OPERATIONS_FORK].due,
                             &due_operations[OPERATIONS_FORK].take,
                             &due_operations[OPERATIONS_HOOKED].line,
                             &due_operations[OPERATIONS_HOOKED].due,
                             &due_operations[OPERATIONS_HOOKED].take,
                             &due_operations[OPERATIONS_MOVE].line,
                             &due_operations[OPERATIONS_MOVE].due,
                             &due_operations[OPERATIONS_MOVE].take};

static const char *const kind_names[] = {
    [OPERATION_CREATE] = "create",
    [OPERATION_PAUSE] = "pause",
    [OPERATION_RESUME] = "resume",
    [OPERATION_ROLLBACK] = "rollback",
    [OPERATION_CHECKPOINT] = "checkpoint",
    [OPERATION_FORK] = "fork",
    [OPERATION_MOVE] = "move",
    [OPERATION_DESTROY] = "destroy",
};
static const char *const state_names[] = {
    [OPERATION_RUNNING] = "running",
    [OPERATION_DONE] = "done",
    [OPERATION_FAILED] = "failed",
    [OPERATION_SUPERSEDED] = "superseded",
};

const char *operation_kind_name(enum operation_kind kind)
{
    return kind_names[kind];
}

int operation_begin(struct db *db, struct sandbox *sandbox, enum operation_kind kind,
                    const char *lease_owner, uint64_t lease_s, struct operation *operation,
                    struct error **err)
{
    int64_t now_ms = clock_now_ms();
    if (sandbox->operation_id[0] &&
        db_exec(db, &supersede_statement, DB_ARGS(db_i64(now_ms), db_text(sandbox->operation_id)),
                NULL, err) < 0)
        return -1;
    *operation = (struct operation){
        .kind = kind, .incarnation = sandbox->incarnation, .attempts = !!lease_owner};
    id_new("opr_", operation->id);
    memcpy(operation->sandbox_id, sandbox->id, sizeof operation->sandbox_id);
    snprintf(operation->lease_owner, sizeof operation->lease_owner, "%s",
             lease_owner ? lease_owner : "");
    memcpy(sandbox->operation_id, operation->id, sizeof sandbox->operation_id);
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(operation->id), db_text(operation->sandbox_id),
                           db_text(kind_names[kind]), db_u64(operation->incarnation),
                           db_text(operation->lease_owner),
                           db_i64(lease_owner ? clock_in_s(lease_s) : now_ms),
                           db_u64(operation->attempts), db_i64(now_ms)),
                   NULL, err);
}

int operation_set_turn(struct db *db, const struct operation *operation, unsigned n,
                       struct error **err)
{
    int64_t turn_ms = clock_now_ms() - (int64_t)(TURNS_MOST - n) * TURN_MS;
    return db_exec(db, &turn_statement, DB_ARGS(db_i64(turn_ms), db_text(operation->id)), NULL,
                   err);
}

int operation_set_host(struct db *db, struct operation *operation, uint32_t host_id,
                       struct error **err)
{
    operation->host_id = host_id;
    return db_exec(db, &set_host_statement, DB_ARGS(db_u64(host_id), db_text(operation->id)), NULL,
                   err);
}

int operation_outcome(struct db *db, const char *id, enum operation_state *state, char **failure,
                      struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &outcome_statement, DB_ARGS(db_text(id)), "There is no such operation.",
                     &rows, err) < 0)
        return -1;
    *state = (enum operation_state)db_get_name(rows, 0, state_names, ARRAY_SIZE(state_names));
    *failure = xstrdup(db_get_text(rows, 1));
    return 0;
}

int operation_makes(struct db *db, const char *id, bool *makes, struct error **err)
{
    return db_query_finds(db, &makes_statement, DB_ARGS(db_text(id)), makes, err);
}

int operation_end(struct db *db, const struct operation *operation, const char *failure,
                  const char *note, struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &end_statement,
                DB_ARGS(db_text(failure ? "failed" : "done"),
                        db_text_cut(failure ? failure : note, FAILURE_MAX), db_i64(clock_now_ms()),
                        db_text(operation->id), db_text(operation->lease_owner)),
                &matched, err) < 0)
        return -1;
    return matched ? 0
                   : error_set(err, ERR_LEASE_LOST, "another process has taken operation %s",
                               operation->id);
}

int operation_drop(struct db *db, const char *id, const char *failure, struct error **err)
{
    return db_exec(db, &drop_statement,
                   DB_ARGS(db_text_cut(failure, FAILURE_MAX), db_i64(clock_now_ms()), db_text(id)),
                   NULL, err);
}

void operation_keep(struct db *db, const struct operation *operation, uint64_t lease_s,
                    struct lease *lease)
{
    lease_keep(lease, db, &held_operations, operation->id, operation->lease_owner, lease_s * 1000);
}

static int release(struct db *db, const struct db_statement *statement,
                   const struct operation *operation, uint64_t delay_ms, const char *failure,
                   struct error **err)
{
    return db_exec(db, statement,
                   DB_ARGS(db_i64(clock_in_ms(delay_ms)), db_text_cut(failure, FAILURE_MAX),
                           db_text(operation->id), db_text(operation->lease_owner)),
                   NULL, err);
}

int operation_defer(struct db *db, const struct operation *operation, uint64_t delay_ms,
                    const char *failure, struct error **err)
{
    return release(db, &defer_statement, operation, delay_ms, failure, err);
}

int operation_await_host(struct db *db, const struct operation *operation, uint64_t delay_ms,
                         const char *failure, struct error **err)
{
    return release(db, &await_host_statement, operation, delay_ms, failure, err);
}

int operation_await_hook(struct db *db, const struct operation *operation, uint64_t delay_ms,
                         struct error **err)
{
    return db_exec(db, &await_hook_statement,
                   DB_ARGS(db_i64(clock_in_ms(delay_ms)), db_i64(clock_now_ms()),
                           db_text(operation->id), db_text(operation->lease_owner)),
                   NULL, err);
}

struct take {
    const char *lease_owner;
    uint64_t lease_s;
    const struct lease_table *table;
    struct operation *operation;
};

static int take_body(struct db *db, void *context, struct error **err)
{
    struct take *take = context;
    struct operation *operation = take->operation;
    char id[LEASE_KEY_SIZE];
    *operation = (struct operation){0};
    if (lease_take(db, take->table, take->lease_owner, take->lease_s * 1000, id,
                   &operation->attempts, err) < 0)
        return -1;
    if (!*id)
        return 0;
    db_rows_auto *rows = NULL;
    if (db_query(db, &get_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    db_copy_text(operation->id, rows, 0);
    db_copy_text(operation->sandbox_id, rows, 1);
    operation->kind = (enum operation_kind)db_get_name(rows, 2, kind_names, ARRAY_SIZE(kind_names));
    operation->incarnation = (uint32_t)db_get_u64(rows, 3);
    operation->host_id = (uint32_t)db_get_u64(rows, 4);
    operation->hook_since_ms = db_get_i64(rows, 5);
    snprintf(operation->lease_owner, sizeof operation->lease_owner, "%s", take->lease_owner);
    return 0;
}

int operation_take_overdue(struct db *db, const char *lease_owner, uint64_t lease_s,
                           enum operation_class class, struct operation *operation,
                           struct error **err)
{
    struct take take = {lease_owner, lease_s, &due_operations[class], operation};
    return db_transaction(db, take_body, &take, err);
}

int operation_answers_wait(struct db *db, bool *wait, struct error **err)
{
    int64_t now_ms = clock_now_ms();
    return db_query_finds(db, &answers_statement,
                          DB_ARGS(db_i64(now_ms - MOMENT_MS), db_i64(now_ms)), wait, err);
}
