/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/sandbox_columns.h"
#include "sandbox/sandbox_list.h"
#include "sandbox/sandbox_row.h"

static const struct db_statement all_statement = {
    "sandbox_list.all",
    "SELECT " SANDBOX_COLUMNS " FROM sandboxes s" SANDBOX_JOINS
    " WHERE s.team_id = ? AND s.visible = 1 AND s.id < ? ORDER BY s.id DESC LIMIT ?",
    true};
static const struct db_statement state_statement = {
    "sandbox_list.state",
    "SELECT " SANDBOX_COLUMNS " FROM sandboxes s" SANDBOX_JOINS
    " WHERE s.team_id = ? AND s.state = ? AND s.id < ? ORDER BY s.id DESC LIMIT ?",
    true};

/* The first pair leads, the others are looked up by primary key; a pair that is not used is NULL,
 * a state that is not used ''. */
#define ALSO                                                      \
    " AND (? IS NULL OR EXISTS (SELECT 1 FROM sandbox_metadata n" \
    " WHERE n.sandbox_id = m.sandbox_id AND n.name = ? AND n.value = ?))"
static const struct db_statement metadata_statement = {
    "sandbox_list.metadata",
    "SELECT " SANDBOX_COLUMNS
    " FROM sandbox_metadata m JOIN sandboxes s ON s.id = m.sandbox_id" SANDBOX_JOINS
    " WHERE m.team_id = ? AND m.name = ? AND m.value = ? AND m.sandbox_id < ?"
    " AND s.visible = 1 AND (? = 0 OR s.state IN (?, ?, ?, ?, ?, ?))" ALSO ALSO ALSO ALSO ALSO ALSO
        ALSO " ORDER BY m.sandbox_id DESC LIMIT ?",
    true};

static const struct db_statement *const statements[] = {&all_statement, &state_statement,
                                                        &metadata_statement};
const struct db_statement_list sandbox_list_statements = DB_STATEMENT_LIST(statements);

#define SHOWN_STATES 6
#define ALSO_PAIRS   (SANDBOX_FILTER_METADATA_MAX - 1)

/* Run the statement and append its rows. */
static int append(struct db *db, const struct db_statement *statement, const struct db_value *args,
                  size_t arg_count, struct sandbox **sandboxes, unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, statement, args, arg_count, &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        *sandboxes = xreallocarray(*sandboxes, *count + 1, sizeof **sandboxes);
        int result = sandbox_row_read(rows, &(*sandboxes)[*count], err);
        ++*count;
        if (result < 0)
            return -1;
    }
    return 0;
}

static bool wants_states(const struct sandbox_filter *filter)
{
    for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++)
        if (filter->states[i])
            return true;
    return false;
}

static int list_by_metadata(struct db *db, const char *team_id, const struct sandbox_filter *filter,
                            const char *before, unsigned limit, struct sandbox **sandboxes,
                            unsigned *count, struct error **err)
{
    struct db_value args[5 + SHOWN_STATES + ALSO_PAIRS * 3 + 1];
    size_t n = 0;
    args[n++] = db_text(team_id);
    args[n++] = db_blob(filter->metadata[0].name, strlen(filter->metadata[0].name));
    args[n++] = db_blob(filter->metadata[0].value, strlen(filter->metadata[0].value));
    args[n++] = db_text(before);
    args[n++] = db_u64(wants_states(filter));
    for (unsigned i = 0; i < SHOWN_STATES; i++)
        args[n++] = db_text(filter->states[i] ? sandbox_state_name((enum sandbox_state)i) : "");
    for (unsigned i = 1; i <= ALSO_PAIRS; i++) {
        bool used = i < filter->metadata_count;
        const char *name = used ? filter->metadata[i].name : "";
        const char *value = used ? filter->metadata[i].value : "";
        args[n++] = used ? db_u64(1) : db_null();
        args[n++] = db_blob(name, strlen(name));
        args[n++] = db_blob(value, strlen(value));
    }
    args[n++] = db_u64(limit);
    return append(db, &metadata_statement, args, n, sandboxes, count, err);
}

/* Each state from its own stretch of the index, merged afterwards. */
static int list_by_states(struct db *db, const char *team_id, const struct sandbox_filter *filter,
                          const char *before, unsigned limit, struct sandbox **sandboxes,
                          unsigned *count, struct error **err)
{
    for (unsigned i = 0; i < SANDBOX_STATE_COUNT; i++) {
        if (!filter->states[i])
            continue;
        const char *state = sandbox_state_name((enum sandbox_state)i);
        if (append(db, &state_statement,
                   DB_ARGS(db_text(team_id), db_text(state), db_text(before), db_u64(limit)),
                   sandboxes, count, err) < 0)
            return -1;
    }
    sandbox_list_trim(*sandboxes, count, limit);
    return 0;
}

int sandbox_list(struct db *db, const char *team_id, const struct sandbox_filter *filter,
                 const char *before, unsigned limit, struct sandbox **sandboxes, unsigned *count,
                 struct error **err)
{
    *sandboxes = NULL;
    *count = 0;
    if (!before)
        before = "~"; /* sorts behind every character of an id */
    if (filter->metadata_count)
        return list_by_metadata(db, team_id, filter, before, limit, sandboxes, count, err);
    if (wants_states(filter))
        return list_by_states(db, team_id, filter, before, limit, sandboxes, count, err);
    return append(db, &all_statement, DB_ARGS(db_text(team_id), db_text(before), db_u64(limit)),
                  sandboxes, count, err);
}

static int newest_first(const void *a, const void *b)
{
    const struct sandbox *left = a, *right = b;
    return -strcmp(left->id, right->id);
}

void sandbox_list_trim(struct sandbox *sandboxes, unsigned *count, unsigned limit)
{
    if (*count > 1)
        qsort(sandboxes, *count, sizeof *sandboxes, newest_first);
    for (; *count > limit; --*count)
        sandbox_deinit(&sandboxes[*count - 1]);
}
