/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "account/access_revision.h"
#include "account/plan.h"
#include "base/mem.h"
#include "base/str.h"

/* --- statements: one list of columns to read, and one UPDATE for each column --- */

#define COLUMN_NAME(column, kind, least, most, check) ", " #column
DB_STATEMENT(get_statement) = {
    "plan.get", "SELECT name" PLAN_COLUMNS(COLUMN_NAME) " FROM plans WHERE name = ?"};
DB_STATEMENT(list_statement) = {
    "plan.list",
    "SELECT name" PLAN_COLUMNS(COLUMN_NAME) " FROM plans ORDER BY position, name LIMIT ?"};
DB_STATEMENT(lock_statement) = {"plan.lock", "SELECT name FROM plans WHERE name = ? FOR UPDATE"};

DB_STATEMENT(copy_statement) = {
    "plan.copy", "INSERT INTO plans (name, position" PLAN_COLUMNS(
                     COLUMN_NAME) ")"
                                  " SELECT ?, (SELECT MAX(position) + 1 FROM plans p)" PLAN_COLUMNS(
                                      COLUMN_NAME) " FROM plans WHERE name = ?"};
/* Removed teams do not keep a plan: they move to the first plan of the catalogue. */
DB_STATEMENT(used_statement) = {
    "plan.used", "SELECT slug FROM teams WHERE plan = ? AND removed_at_ms IS NULL LIMIT 1"};
DB_STATEMENT(move_statement) = {
    "plan.move",
    "UPDATE teams SET plan = (SELECT name FROM plans WHERE name <> ? ORDER BY position LIMIT 1)"
    " WHERE plan = ? AND removed_at_ms IS NOT NULL"};
DB_STATEMENT(delete_statement) = {"plan.delete", "DELETE FROM plans WHERE name = ?"};

#define UPDATE_STATEMENT(column, kind, least, most, check)         \
    DB_STATEMENT(set_##column##_statement) = {"plan.set_" #column, \
                                              "UPDATE plans SET " #column " = ? WHERE name = ?"};
PLAN_COLUMNS(UPDATE_STATEMENT)

/* --- reading --- */

static int read_cpus(const char *text, struct plan *plan, struct error **err)
{
    if (plan_parse_cpus(text, plan->cpu_values, &plan->cpu_value_count) < 0)
        return error_set(err, ERR_INTERNAL, "plan %s has a malformed cpu_values", plan->name);
    return 0;
}

static int read_plan(const struct db_rows *rows, struct plan *plan, struct error **err)
{
    unsigned c = 0;
    *plan = (struct plan){0};
    db_copy_text(plan->name, rows, c++);
#define READ_FLAG(column)   plan->column = db_get_bool(rows, c++);
#define READ_NUMBER(column) plan->column = (uint32_t)db_get_u64(rows, c++);
#define READ_TEXT(column)   db_copy_text(plan->column, rows, c++);
#define READ_CPUS(column)                                 \
    if (read_cpus(db_get_text(rows, c++), plan, err) < 0) \
        return -1;
#define READ_COLUMN(column, kind, least, most, check) READ_##kind(column)
    PLAN_COLUMNS(READ_COLUMN)
    return 0;
}

int plan_get(struct db *db, const char *name, struct plan *plan, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &get_statement, DB_ARGS(db_text(name)), "There is no such plan.", &rows,
                     err) < 0)
        return -1;
    return read_plan(rows, plan, err);
}

int plan_list(struct db *db, struct plan plans[PLANS_MAX], unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &list_statement, DB_ARGS(db_u64(PLANS_MAX)), &rows, err) < 0)
        return -1;
    for (*count = 0; db_rows_next(rows); ++*count)
        if (read_plan(rows, &plans[*count], err) < 0)
            return -1;
    return 0;
}

/* --- changing --- */

enum kind { KIND_FLAG, KIND_NUMBER, KIND_CPUS, KIND_TEXT };

static const struct column {
    const char *name;
    enum kind kind;
    uint64_t least, most;
    bool (*check)(const char *text);
    const struct db_statement *update;
} columns[] = {
#define COLUMN_ROW(column, kind, least, most, check) \
    {#column, KIND_##kind, least, most, check, &set_##column##_statement},
    PLAN_COLUMNS(COLUMN_ROW)};

static const struct column *find_column(const char *name, struct error **err)
{
    const char *names[ARRAY_SIZE(columns)];
    for (unsigned i = 0; i < ARRAY_SIZE(columns); i++) {
        names[i] = columns[i].name;
        if (!strcmp(name, names[i]))
            return &columns[i];
    }
    const char *nearest = str_nearest(name, names, ARRAY_SIZE(names));
    error_set_field(err, ERR_INVALID_REQUEST, name, "A plan has no value with this name%s%s%s",
                    nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : ".");
    return NULL;
}

static int check_value(const struct column *column, const char *value, struct error **err)
{
    uint64_t number;
    uint32_t cpus[16];
    unsigned count;
    switch (column->kind) {
    case KIND_FLAG:
    case KIND_NUMBER:
        if (str_parse_u64(value, column->least, column->most, &number) == 0)
            return 0;
        return error_set_field(err, ERR_INVALID_REQUEST, column->name,
                               "%s must be a whole number from %llu to %llu.", column->name,
                               (unsigned long long)column->least, (unsigned long long)column->most);
    case KIND_CPUS:
        if (strlen(value) < 256 && plan_parse_cpus(value, cpus, &count) == 0)
            return 0;
        return error_set_field(err, ERR_INVALID_REQUEST, column->name,
                               "%s must be ascending numbers, separated by commas, such as 1,2,4.",
                               column->name);
    case KIND_TEXT:
        if (column->check(value))
            return 0;
        return error_set_field(err, ERR_INVALID_REQUEST, column->name, "%s must look like %s.",
                               column->name,
                               column->check == plan_price_is_valid ? "0.0504" : "USD");
    }
    return 0;
}

struct change {
    const char *plan_name;
    const struct plan_value *values;
    unsigned count;
};

static int change_column(struct db *db, const char *plan_name, const struct plan_value *wanted,
                         struct error **err)
{
    const struct column *column = find_column(wanted->column, err);
    if (!column || check_value(column, wanted->value, err) < 0)
        return -1;
    return db_exec(db, column->update, DB_ARGS(db_text(wanted->value), db_text(plan_name)), NULL,
                   err);
}

/* Check the whole plan after the change; the lock keeps two changes from missing each other. */
static int change_body(struct db *db, void *context, struct error **err)
{
    const struct change *change = context;
    struct plan plan;
    db_rows_auto *rows = NULL;
    if (db_query(db, &lock_statement, DB_ARGS(db_text(change->plan_name)), &rows, err) < 0)
        return -1;
    for (unsigned i = 0; i < change->count; i++)
        if (change_column(db, change->plan_name, &change->values[i], err) < 0)
            return -1;
    if (plan_get(db, change->plan_name, &plan, err) < 0 || plan_check(&plan, err) < 0)
        return -1;
    return access_revision_bump(db, ACCESS_OF_ALL, err);
}

int plan_set(struct db *db, const char *name, const struct plan_value *values, unsigned count,
             struct error **err)
{
    return db_transaction(db, change_body, &(struct change){name, values, count}, err);
}

/* --- plans as a whole --- */

static int check_name(const char *name, struct error **err)
{
    if (slug_is_valid(name) && strlen(name) <= 32)
        return 0;
    return error_set(err, ERR_INVALID_REQUEST,
                     "The name of a plan is 1 to 32 lower-case letters, digits and hyphens.");
}

struct creation {
    const char *name, *from;
};

static int create_body(struct db *db, void *context, struct error **err)
{
    const struct creation *plan = context;
    uint64_t made;
    if (db_exec(db, &copy_statement, DB_ARGS(db_text(plan->name), db_text(plan->from)), &made,
                err) < 0)
        return -1;
    if (!made)
        return error_set(err, ERR_NOT_FOUND, "There is no plan %s.", plan->from);
    /* Other teams do not see a new plan until the operator makes it public. */
    if (db_exec(db, &set_is_public_statement, DB_ARGS(db_u64(0), db_text(plan->name)), NULL, err) <
        0)
        return -1;
    return access_revision_bump(db, ACCESS_OF_ALL, err);
}

int plan_create(struct db *db, const char *name, const char *from, struct error **err)
{
    if (check_name(name, err) < 0)
        return -1;
    if (db_transaction(db, create_body, &(struct creation){name, from}, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_DB_DUPLICATE))
        return -1;
    return error_set(err, ERR_NAME_TAKEN, "There is a plan %s already.", name);
}

static int remove_body(struct db *db, void *context, struct error **err)
{
    struct db_value name = db_text(context);
    db_rows_auto *locked = NULL;
    db_rows_auto *teams = NULL;
    if (db_query(db, &lock_statement, DB_ARGS(name), &locked, err) < 0 ||
        db_query(db, &used_statement, DB_ARGS(name), &teams, err) < 0)
        return -1;
    if (!db_rows_next(locked))
        return error_set(err, ERR_NOT_FOUND, "There is no such plan.");
    if (db_rows_next(teams))
        return error_set(err, ERR_INVALID_REQUEST, "The team %s is on this plan.",
                         db_get_text(teams, 0));
    if (db_exec(db, &move_statement, DB_ARGS(name, name), NULL, err) < 0)
        return -1;
    return db_exec(db, &delete_statement, DB_ARGS(name), NULL, err) < 0
               ? -1
               : access_revision_bump(db, ACCESS_OF_ALL, err);
}

int plan_remove(struct db *db, const char *name, struct error **err)
{
    /* The plan of new users. */
    if (!strcmp(name, "basic"))
        return error_set(err, ERR_INVALID_REQUEST,
                         "The plan basic cannot be removed, because new users get it.");
    return db_transaction(db, remove_body, (void *)name, err);
}
