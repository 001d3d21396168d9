/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"
#include "sandbox/sandbox_columns.h"
#include "sandbox/sandbox_list.h"
#include "sandbox/sandbox_row.h"

/* A page's ids are found first, from an index alone and in its order; only then are their rows
 * joined. Left to itself the optimizer joins first and sorts the whole team for each page. */
#define PAGE_OF(ids)                                      \
    "SELECT STRAIGHT_JOIN " SANDBOX_COLUMNS " FROM (" ids \
    ") found JOIN sandboxes s ON s.id = found.id" SANDBOX_JOINS " ORDER BY s.id DESC"
static const struct db_statement all_statement = {
    "sandbox_list.all",
    PAGE_OF("SELECT id FROM sandboxes FORCE INDEX (sandboxes_list)"
            " WHERE team_id = ? AND visible = 1 AND id < ? ORDER BY id DESC LIMIT ?"),
    true};

/* Each state from its own stretch of the index, '' for one that is not asked for. One statement
 * sees one state of the table: asked one after the other, a sandbox that moves on meanwhile would
 * be found twice, or not at all. */
#define OF_STATE                                                   \
    "(SELECT id FROM sandboxes FORCE INDEX (sandboxes_list_state)" \
    " WHERE team_id = ? AND state = ? AND id < ? ORDER BY id DESC LIMIT ?)"
static const struct db_statement state_statement = {
    "sandbox_list.state",
    PAGE_OF(OF_STATE " UNION ALL " OF_STATE " UNION ALL " OF_STATE " UNION ALL " OF_STATE
                     " UNION ALL " OF_STATE " UNION ALL " OF_STATE " ORDER BY id DESC LIMIT ?"),
    true};

/* One pair leads, the others are looked up by primary key; a pair that is not used is NULL, a state
 * that is not used ''. An EXISTS would say the same, and may be run by reading all pairs first. */
#define ALSO                                                     \
    " AND (? IS NULL OR (SELECT n.value FROM sandbox_metadata n" \
    " WHERE n.sandbox_id = m.sandbox_id AND n.name = ?) = ?)"
static const struct db_statement metadata_statement = {
    "sandbox_list.metadata",
    PAGE_OF("SELECT STRAIGHT_JOIN m.sandbox_id AS id"
            " FROM sandbox_metadata m FORCE INDEX (sandbox_metadata_match)"
            " JOIN sandboxes c ON c.id = m.sandbox_id"
            " WHERE m.team_id = ? AND m.name = ? AND m.value = ? AND m.sandbox_id < ?"
            " AND c.visible = 1 AND (? = 0 OR c.state IN (?, ?, ?, ?, ?, ?))" ALSO ALSO ALSO ALSO
                ALSO ALSO ALSO " ORDER BY m.sandbox_id DESC LIMIT ?"),
    true};

#define FEW 1000
static const struct db_statement count_statement = {
    "sandbox_list.count",
    "SELECT COUNT(*) FROM (SELECT 1 FROM sandbox_metadata FORCE INDEX (sandbox_metadata_match)"
    " WHERE team_id = ? AND name = ? AND value = ? AND sandbox_id < ? LIMIT ?) counted",
    true};

static const struct db_statement *const statements[] = {&all_statement, &state_statement,
                                                        &metadata_statement, &count_statement};
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
        sandbox_row_read(rows, &(*sandboxes)[(*count)++]);
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

static struct db_value state_text(const struct sandbox_filter *filter, unsigned state)
{
    return db_text(filter->states[state] ? sandbox_state_name((enum sandbox_state)state) : "");
}

/* The pair that fewest sandboxes have, as far as FEW counts, so that one that is rare finds its
 * sandboxes without a walk through those that have one that is common. */
static int choose_lead(struct db *db, const char *team_id, const struct sandbox_filter *filter,
                       const char *before, unsigned *lead, struct error **err)
{
    uint64_t fewest = FEW;
    *lead = 0;
    for (unsigned i = 0; filter->metadata_count > 1 && i < filter->metadata_count; i++) {
        const struct sandbox_filter_pair *pair = &filter->metadata[i];
        db_rows_auto *rows = NULL;
        if (db_query(db, &count_statement,
                     DB_ARGS(db_text(team_id), db_blob(pair->name, pair->name_size),
                             db_blob(pair->value, pair->value_size), db_text(before), db_u64(FEW)),
                     &rows, err) < 0)
            return -1;
        uint64_t count = db_rows_next(rows) ? db_get_u64(rows, 0) : 0;
        if (count < fewest) {
            fewest = count;
            *lead = i;
        }
    }
    return 0;
}

static int list_by_metadata(struct db *db, const char *team_id, const struct sandbox_filter *filter,
                            const char *before, unsigned limit, struct sandbox **sandboxes,
                            unsigned *count, struct error **err)
{
    static const struct sandbox_filter_pair unused = {"", "", 0, 0};
    struct db_value args[5 + SHOWN_STATES + ALSO_PAIRS * 3 + 1];
    size_t n = 0;
    unsigned lead;
    if (choose_lead(db, team_id, filter, before, &lead, err) < 0)
        return -1;
    const struct sandbox_filter_pair *pair = &filter->metadata[lead];
    args[n++] = db_text(team_id);
    args[n++] = db_blob(pair->name, pair->name_size);
    args[n++] = db_blob(pair->value, pair->value_size);
    args[n++] = db_text(before);
    args[n++] = db_u64(wants_states(filter));
    for (unsigned i = 0; i < SHOWN_STATES; i++)
        args[n++] = state_text(filter, i);
    for (unsigned i = 0; i < SANDBOX_FILTER_METADATA_MAX; i++) {
        bool used = i < filter->metadata_count;
        if (i == lead)
            continue;
        pair = used ? &filter->metadata[i] : &unused;
        args[n++] = used ? db_u64(1) : db_null();
        args[n++] = db_blob(pair->name, pair->name_size);
        args[n++] = db_blob(pair->value, pair->value_size);
    }
    args[n++] = db_u64(limit);
    return append(db, &metadata_statement, args, n, sandboxes, count, err);
}

static int list_by_states(struct db *db, const char *team_id, const struct sandbox_filter *filter,
                          const char *before, unsigned limit, struct sandbox **sandboxes,
                          unsigned *count, struct error **err)
{
    struct db_value args[SHOWN_STATES * 4 + 1];
    size_t n = 0;
    for (unsigned i = 0; i < SHOWN_STATES; i++) {
        args[n++] = db_text(team_id);
        args[n++] = state_text(filter, i);
        args[n++] = db_text(before);
        args[n++] = db_u64(limit);
    }
    args[n++] = db_u64(limit);
    return append(db, &state_statement, args, n, sandboxes, count, err);
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
