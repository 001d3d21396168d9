/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "audit/audit_row.h"
#include "base/mem.h"
#include "naming/name_columns.h"

DB_STATEMENT(insert_statement) = {
    "audit.insert",
    "INSERT INTO audit_log (id, at_ms, team_id, action, resource, actor_kind, actor_id, user_id,"
    " address, request_id, result, error, begun_id, mac_key_id, mac)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"};

/* By team, by team and action, by resource, or all rows: each has its own index. */
#define LIST(where)                                                                              \
    "SELECT " AUDIT_COLUMNS ", u.name, " NAME_OF_THING(                                          \
        "CONVERT(a.resource USING ascii)") " FROM audit_log a LEFT JOIN users u ON u.id = "      \
                                           "a.user_id"                                           \
                                           " WHERE " where " a.id >= ? AND a.id < ? AND (? IS "  \
                                           "NULL OR a.action = ?)"                               \
                                           " AND (? IS NULL OR a.actor_id = ? OR a.user_id = ? " \
                                           "OR u.name = ?)"                                      \
                                           " ORDER BY a.id DESC LIMIT ?"
DB_STATEMENT(list_statement) = {"audit.list", LIST("")};
DB_STATEMENT(list_team_statement) = {"audit.list_team", LIST("a.team_id = ? AND")};
DB_STATEMENT(list_action_statement) = {"audit.list_action",
                                       LIST("a.team_id = ? AND a.action = ? AND")};
DB_STATEMENT(list_resource_statement) = {
    "audit.list_resource", LIST("a.resource = ? AND (? IS NULL OR a.team_id = ?) AND")};

/* Find the last of so many rows of an index. */
#define BOUND(where)                                    \
    "SELECT a.id FROM audit_log a WHERE " where         \
    " a.id >= ? AND a.id < ? ORDER BY a.id DESC LIMIT " \
    "1 OFFSET ?"
DB_STATEMENT(bound_team_statement) = {"audit.bound_team", BOUND("a.team_id = ? AND")};
DB_STATEMENT(bound_action_statement) = {"audit.bound_action",
                                        BOUND("a.team_id = ? AND a.action = ? AND")};
DB_STATEMENT(bound_resource_statement) = {"audit.bound_resource", BOUND("a.resource = ? AND")};

int audit_row_insert(struct db *db, const struct audit_entry *entry, uint16_t mac_key_id,
                     const unsigned char mac[MAC_BYTES], struct error **err)
{
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(entry->id), db_i64(entry->at_ms), db_text(entry->team_id),
                           db_text(entry->action), db_text(entry->resource),
                           db_text(audit_actor_name(entry->actor)), db_text(entry->actor_id),
                           db_text(entry->user_id), db_text(entry->address),
                           db_text(entry->request_id), db_text(audit_result_name(entry->result)),
                           db_text(entry->error), db_text(entry->begun_id), db_u64(mac_key_id),
                           db_blob(mac, MAC_BYTES)),
                   NULL, err);
}

/* --- reading --- */

/* Read an unknown word as the last name. Such a row was tampered with, and its MAC shows it. */
#define READ_NAME(out, rows, column, name_of, last)                                        \
    do {                                                                                   \
        unsigned value_ = 0;                                                               \
        while (value_ < (last) && strcmp(name_of(value_), db_get_text(rows, column)) != 0) \
            value_++;                                                                      \
        (out) = value_;                                                                    \
    } while (0)

void audit_row_read(const struct db_rows *rows, unsigned first, struct audit_entry *entry)
{
    *entry = (struct audit_entry){.at_ms = db_get_i64(rows, first + 1)};
    db_copy_text(entry->id, rows, first);
    db_copy_text(entry->team_id, rows, first + 2);
    db_copy_text(entry->action, rows, first + 3);
    db_copy_text(entry->resource, rows, first + 4);
    READ_NAME(entry->actor, rows, first + 5, audit_actor_name, AUDIT_SERVICE);
    db_copy_text(entry->actor_id, rows, first + 6);
    db_copy_text(entry->user_id, rows, first + 7);
    db_copy_text(entry->address, rows, first + 8);
    db_copy_text(entry->request_id, rows, first + 9);
    READ_NAME(entry->result, rows, first + 10, audit_result_name, AUDIT_REFUSED);
    db_copy_text(entry->error, rows, first + 11);
    db_copy_text(entry->begun_id, rows, first + 12);
}

/* Choose the statement by the index that fits the filter. */
static unsigned choose(const struct audit_filter *filter, const struct db_statement **statement,
                       struct db_value *args)
{
    struct db_value team = db_text(filter->team_id);
    if (filter->resource) {
        *statement = &list_resource_statement;
        args[0] = db_text(filter->resource);
        args[1] = args[2] = team;
        return 3;
    }
    args[0] = team;
    args[1] = db_text(filter->action);
    *statement = !filter->team_id ? &list_statement
                 : filter->action ? &list_action_statement
                                  : &list_team_statement;
    return !filter->team_id ? 0 : filter->action ? 2 : 1;
}

/* Bound the rows that the list reads, if an index cannot choose them by all filters: move `since`
 * forward, and set *end to the id where the list ends. */
static int bound_scan(struct db *db, const struct audit_filter *filter, char since[ID_SIZE],
                      const char *until, char *end, struct error **err)
{
    struct db_value args[5] = {db_text(filter->resource ? filter->resource : filter->team_id),
                               db_text(filter->action)};
    bool by_action = filter->action && !filter->resource;
    unsigned n = by_action ? 2 : 1;
    *end = '\0';
    if (!filter->resource && (!filter->actor || !filter->team_id))
        return 0;
    args[n++] = db_text(since);
    args[n++] = db_text(until);
    args[n++] = db_u64(AUDIT_SCAN_MAX - 1);
    if (db_query_text(db,
                      filter->resource ? &bound_resource_statement
                      : by_action      ? &bound_action_statement
                                       : &bound_team_statement,
                      args, n, end, ID_SIZE, err) < 0)
        return -1;
    if (*end)
        memcpy(since, end, ID_SIZE);
    return 0;
}

int audit_list(struct db *db, const struct audit_filter *filter, const char *before, unsigned limit,
               struct audit_entry **entries, unsigned *count, char *end, struct error **err)
{
    const struct db_statement *statement;
    struct db_value args[16];
    char since[ID_SIZE], until[ID_SIZE];
    db_rows_auto *rows = NULL;
    *entries = NULL;
    *count = 0;
    id_floor("aud_", filter->since_ms, since);
    if (filter->until_ms)
        id_floor("aud_", filter->until_ms, until);
    if (!filter->until_ms || (before && strcmp(before, until) < 0))
        snprintf(until, sizeof until, "%s", before ? before : "aud_~");
    if (end && bound_scan(db, filter, since, until, end, err) < 0)
        return -1;
    unsigned n = choose(filter, &statement, args);
    args[n++] = db_text(since);
    args[n++] = db_text(until);
    for (unsigned i = 0; i < 2; i++)
        args[n++] = db_text(filter->action);
    for (unsigned i = 0; i < 4; i++)
        args[n++] = db_text(filter->actor);
    args[n++] = db_u64(limit);
    if (db_query(db, statement, args, n, &rows, err) < 0)
        return -1;
    *entries = xcalloc(limit ? limit : 1, sizeof **entries);
    while (db_rows_next(rows)) {
        struct audit_entry *entry = &(*entries)[(*count)++];
        audit_row_read(rows, 0, entry);
        db_copy_text(entry->user_name, rows, AUDIT_COLUMN_COUNT);
        db_copy_text(entry->resource_name, rows, AUDIT_COLUMN_COUNT + 1);
    }
    return 0;
}
