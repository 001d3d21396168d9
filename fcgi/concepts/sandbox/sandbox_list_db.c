/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/mem.h"
#include "sandbox/sandbox_columns.h"
#include "sandbox/sandbox_list.h"
#include "sandbox/sandbox_row.h"

/* The inner query finds a page's ids from an index alone, in its order; then their rows are joined.
 * By itself, the optimizer joins first and sorts the whole team for each page. A page lies between
 * two ids, one of which is open, depending on the order. */
#define PAGE_OF(ids, order)                                   \
    "SELECT STRAIGHT_JOIN " SANDBOX_OWN_COLUMNS " FROM (" ids \
    ") found JOIN sandboxes s ON s.id = found.id ORDER BY s.id " order

/* With one index in the order of the answer, the inner query is not needed. */
#define ALL(order)                                                                          \
    "SELECT " SANDBOX_OWN_COLUMNS " FROM sandboxes s FORCE INDEX (sandboxes_list)"          \
    " WHERE s.team_id = ? AND s.visible = 1 AND s.id > ? AND s.id < ? ORDER BY s.id " order \
    " LIMIT ?"

/* Each state comes from its own part of the index; '' stands for a state that the filter does not
 * have. One statement sees one moment of the table. With a statement for each state, a sandbox that
 * changes its state meanwhile would be found twice, or not at all. */
#define OF_STATE(order)                                            \
    "(SELECT id FROM sandboxes FORCE INDEX (sandboxes_list_state)" \
    " WHERE team_id = ? AND state = ? AND id > ? AND id < ? ORDER BY id " order " LIMIT ?)"
#define OR_STATE(order) " UNION ALL " OF_STATE(order)
#define STATES(order)                                                                             \
    PAGE_OF(OF_STATE(order) OR_STATE(order) OR_STATE(order) OR_STATE(order) OR_STATE(order)       \
                OR_STATE(order) OR_STATE(order) OR_STATE(order) " ORDER BY id " order " LIMIT ?", \
            order)

/* An unused pair is NULL, an unused state ''. With EXISTS, the server might read all pairs
 * first. */
#define IN_STATE " AND (? = 0 OR c.state IN (?, ?, ?, ?, ?, ?, ?, ?))"
#define HAS_PAIR                                                 \
    " AND (? IS NULL OR (SELECT n.value FROM sandbox_metadata n" \
    " WHERE n.sandbox_id = c.id AND n.name = ?) = ?)"
#define HAS_OTHERS HAS_PAIR HAS_PAIR HAS_PAIR HAS_PAIR HAS_PAIR HAS_PAIR HAS_PAIR

/* One pair leads; the others are looked up by primary key. */
#define METADATA(order)                                                                \
    PAGE_OF("SELECT STRAIGHT_JOIN m.sandbox_id AS id"                                  \
            " FROM sandbox_metadata m FORCE INDEX (sandbox_metadata_match)"            \
            " JOIN sandboxes c ON c.id = m.sandbox_id"                                 \
            " WHERE m.team_id = ? AND m.name = ? AND m.value = ? AND m.sandbox_id > ?" \
            " AND m.sandbox_id < ? AND c.visible = 1" IN_STATE HAS_OTHERS              \
            " ORDER BY m.sandbox_id " order " LIMIT ?",                                \
            order)

#define OF_TEAM(index, found, order)                                                      \
    PAGE_OF("SELECT c.id FROM sandboxes c FORCE INDEX (" index ") WHERE c.team_id = ?"    \
            " AND " found " AND c.id > ? AND c.id < ? AND c.created_at_ms > ?"            \
            " AND (? IS NULL OR c.template_slug = ? OR c.template_version_id = ?"         \
            " OR c.snapshot_id = ?)" IN_STATE HAS_PAIR HAS_OTHERS " ORDER BY c.id " order \
            " LIMIT ?",                                                                   \
            order)
/* No index has these columns: the query walks every sandbox of the team between the two ids. */
#define PICKED(order) OF_TEAM("sandboxes_list", "c.visible = 1", order)
#define NAMED(order)  OF_TEAM("sandboxes_name", "c.taken_name BETWEEN ? AND ?", order)

/* In both orders; index 0 is newest first. */
#define BOTH(name, text)                             \
    {                                                \
        {"sandbox_list." name, text("DESC")},        \
        {                                            \
            "sandbox_list." name "_asc", text("ASC") \
        }                                            \
    }
static const struct db_statement all_statements[2] = BOTH("all", ALL);
static const struct db_statement state_statements[2] = BOTH("state", STATES);
static const struct db_statement metadata_statements[2] = BOTH("metadata", METADATA);
static const struct db_statement picked_statements[2] = BOTH("picked", PICKED);
static const struct db_statement named_statements[2] = BOTH("named", NAMED);

#define FEW 1000
DB_STATEMENT(count_statement) = {
    "sandbox_list.count",
    "SELECT COUNT(*) FROM (SELECT 1 FROM sandbox_metadata FORCE INDEX (sandbox_metadata_match)"
    " WHERE team_id = ? AND name = ? AND value = ? AND sandbox_id > ? AND sandbox_id < ? LIMIT ?)"
    " counted"};

DB_STATEMENT(newest_statement) = {
    "sandbox_list.newest",
    "SELECT (SELECT a.revision FROM access_revision a WHERE a.id = 1), s.id, s.version"
    " FROM sandboxes s FORCE INDEX (sandboxes_list) WHERE s.team_id = ? AND s.visible = 1"
    " ORDER BY s.id DESC LIMIT ?"};
DB_STATEMENT(copy_statement) = {
    "sandbox_list.copy",
    "SELECT STRAIGHT_JOIN " SANDBOX_COLUMNS
    " FROM (SELECT id FROM sandboxes WHERE snapshot_id = ? AND visible = 1 LIMIT ?) found"
    " JOIN sandboxes s ON s.id = found.id" SANDBOX_JOINS " ORDER BY s.id DESC"};

DB_STATEMENTS(statements) = {
    &all_statements[0],      &all_statements[1],      &state_statements[0],  &state_statements[1],
    &metadata_statements[0], &metadata_statements[1], &picked_statements[0], &picked_statements[1],
    &named_statements[0],    &named_statements[1]};

#define SHOWN_STATES 8

/* A time is compared with the time in the id, which is that of the create request. The record may
 * be as much younger as a create can take. */
#define CREATE_MAX_MS (15 * 60 * 1000)

/* The query for one team. */
struct asked {
    const char *team_id;
    const struct sandbox_filter *filter;
    const char *after, *before; /* ids */
    unsigned limit;
};

#define ARGS_MAX 64
struct args {
    struct db_value values[ARGS_MAX];
    size_t count;
};

static void add(struct args *args, struct db_value value)
{
    args->values[args->count++] = value;
}

/* Run the statement and append its rows, with joined columns or without. cut: as sandbox_list();
 * NULL: all rows are wanted. */
static int append(struct db *db, const struct db_statement *statement, const struct db_value *args,
                  size_t arg_count, bool joined, struct sandbox **sandboxes, unsigned *count,
                  bool *cut, struct error **err)
{
    db_rows_auto *rows = NULL;
    if ((cut ? db_query_part(db, statement, args, arg_count, SANDBOX_LIST_BYTES_MAX, &rows, cut,
                             err)
             : db_query(db, statement, args, arg_count, &rows, err)) < 0)
        return -1;
    while (db_rows_next(rows)) {
        *sandboxes = xreallocarray(*sandboxes, *count + 1, sizeof **sandboxes);
        struct sandbox *sandbox = &(*sandboxes)[(*count)++];
        if (joined)
            sandbox_row_read(rows, sandbox);
        else
            sandbox_row_read_own(rows, 0, sandbox);
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

/* Find the pair that fewest sandboxes have; counting stops at FEW. A rare pair then finds its
 * sandboxes without a walk through those of a common pair. */
static int choose_lead(struct db *db, const struct asked *asked, unsigned *lead, struct error **err)
{
    const struct sandbox_filter *filter = asked->filter;
    uint64_t fewest = FEW;
    *lead = 0;
    for (unsigned i = 0; filter->metadata_count > 1 && i < filter->metadata_count; i++) {
        const struct sandbox_filter_pair *pair = &filter->metadata[i];
        uint64_t count;
        if (DB_NUMBER(db, &count_statement,
                      DB_ARGS(db_text(asked->team_id), db_blob(pair->name, pair->name_size),
                              db_blob(pair->value, pair->value_size), db_text(asked->after),
                              db_text(asked->before), db_u64(FEW)),
                      &count, err) < 0)
            return -1;
        if (count < fewest) {
            fewest = count;
            *lead = i;
        }
    }
    return 0;
}

/* Add the arguments of IN_STATE. */
static void add_states(struct args *args, const struct sandbox_filter *filter)
{
    add(args, db_u64(wants_states(filter)));
    for (unsigned i = 0; i < SHOWN_STATES; i++)
        add(args, state_text(filter, i));
}

/* Add the arguments of HAS_PAIR for all pairs but the one at `lead`. */
static void add_pairs(struct args *args, const struct sandbox_filter *filter, unsigned lead)
{
    static const struct sandbox_filter_pair unused = {"", "", 0, 0};
    for (unsigned i = 0; i < SANDBOX_FILTER_METADATA_MAX; i++) {
        bool used = i < filter->metadata_count;
        const struct sandbox_filter_pair *pair = used ? &filter->metadata[i] : &unused;
        if (i == lead)
            continue;
        add(args, used ? db_u64(1) : db_null());
        add(args, db_blob(pair->name, pair->name_size));
        add(args, db_blob(pair->value, pair->value_size));
    }
}

static int args_by_metadata(struct db *db, const struct asked *asked, struct args *args,
                            struct error **err)
{
    unsigned lead;
    if (choose_lead(db, asked, &lead, err) < 0)
        return -1;
    const struct sandbox_filter_pair *pair = &asked->filter->metadata[lead];
    add(args, db_text(asked->team_id));
    add(args, db_blob(pair->name, pair->name_size));
    add(args, db_blob(pair->value, pair->value_size));
    add(args, db_text(asked->after));
    add(args, db_text(asked->before));
    add_states(args, asked->filter);
    add_pairs(args, asked->filter, lead);
    add(args, db_u64(asked->limit));
    return 0;
}

static void args_by_states(const struct asked *asked, struct args *args)
{
    for (unsigned i = 0; i < SHOWN_STATES; i++) {
        add(args, db_text(asked->team_id));
        add(args, state_text(asked->filter, i));
        add(args, db_text(asked->after));
        add(args, db_text(asked->before));
        add(args, db_u64(asked->limit));
    }
    add(args, db_u64(asked->limit));
}

/* names_end: the last of the names; NULL: of any name. */
static void args_of_picked(struct asked *asked, const char *names_end, char floor[ID_SIZE],
                           struct args *args)
{
    const struct sandbox_filter *filter = asked->filter;
    int64_t since_ms = filter->started_after_ms - CREATE_MAX_MS;
    if (since_ms > 0 && strcmp(id_floor("sbx_", since_ms, floor), asked->after) > 0)
        asked->after = floor;
    add(args, db_text(asked->team_id));
    if (names_end) {
        add(args, db_text(filter->name ? filter->name : filter->name_prefix));
        add(args, db_text(names_end));
    }
    add(args, db_text(asked->after));
    add(args, db_text(asked->before));
    add(args, db_i64(filter->started_after_ms));
    add(args, filter->template ? db_u64(1) : db_null());
    for (unsigned i = 0; i < 3; i++)
        add(args, db_text(filter->template ? filter->template : ""));
    add_states(args, filter);
    add_pairs(args, filter, SANDBOX_FILTER_METADATA_MAX);
    add(args, db_u64(asked->limit));
}

int sandbox_list(struct db *db, const char *team_id, const struct sandbox_filter *filter,
                 const char *last, unsigned limit, struct sandbox **sandboxes, unsigned *count,
                 bool *cut, struct error **err)
{
    /* "~" sorts behind every character of an id. */
    struct asked asked = {team_id, filter, "", "~", limit};
    struct args args = {.count = 0};
    char floor[ID_SIZE];
    /* "~" sorts behind every character of a name, too. */
    autofree char *names_end =
        filter->name_prefix ? xasprintf("%s~", filter->name_prefix) : xstrdup_or_null(filter->name);
    const struct db_statement *statement = all_statements;
    *sandboxes = NULL;
    *count = 0;
    *cut = false;
    if (last)
        *(filter->oldest_first ? &asked.after : &asked.before) = last;
    if (names_end || filter->template || filter->started_after_ms) {
        statement = names_end ? named_statements : picked_statements;
        args_of_picked(&asked, names_end, floor, &args);
    } else if (filter->metadata_count) {
        statement = metadata_statements;
        if (args_by_metadata(db, &asked, &args, err) < 0)
            return -1;
    } else if (wants_states(filter)) {
        statement = state_statements;
        args_by_states(&asked, &args);
    } else {
        add(&args, db_text(team_id));
        add(&args, db_text(asked.after));
        add(&args, db_text(asked.before));
        add(&args, db_u64(limit));
    }
    return append(db, &statement[filter->oldest_first], args.values, args.count, false, sandboxes,
                  count, cut, err);
}

int sandbox_list_newest(struct db *db, const char *team_id, unsigned limit,
                        struct sandbox_listed *rows, unsigned *count, uint64_t *revision,
                        struct error **err)
{
    db_rows_auto *found = NULL;
    if (db_query(db, &newest_statement, DB_ARGS(db_text(team_id), db_u64(limit)), &found, err) < 0)
        return -1;
    for (*count = 0; *count < limit && db_rows_next(found); ++*count) {
        *revision = db_get_u64(found, 0);
        db_copy_text(rows[*count].id, found, 1);
        rows[*count].version = db_get_u64(found, 2);
    }
    return 0;
}

int sandbox_list_of_copy(struct db *db, const char *checkpoint_id, unsigned limit,
                         struct sandbox **sandboxes, unsigned *count, struct error **err)
{
    *sandboxes = NULL;
    *count = 0;
    return append(db, &copy_statement, DB_ARGS(db_text(checkpoint_id), db_u64(limit)), true,
                  sandboxes, count, NULL, err);
}
