/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "audit/audit_row.h"
#include "audit/chain_row.h"
#include "base/mem.h"

#define LINK_COLUMNS "c.seq, c.audit_id, c.team_id, c.at_ms, c.row_mac, c.hash_key_id, c.hash"
#define LINK_COUNT   7

DB_STATEMENT(last_statement) = {
    "audit_chain.last", "SELECT " LINK_COLUMNS " FROM audit_chain c ORDER BY c.seq DESC LIMIT 1"};
DB_STATEMENT(insert_statement) = {
    "audit_chain.insert",
    "INSERT INTO audit_chain (seq, audit_id, team_id, at_ms, row_mac, hash_key_id, hash)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"};
DB_STATEMENT(waiting_statement) = {"audit_chain.waiting",
                                   "SELECT a.id, a.team_id, a.at_ms, a.mac FROM audit_log a"
                                   " LEFT JOIN audit_chain c ON c.audit_id = a.id"
                                   " WHERE a.id >= ? AND c.audit_id IS NULL ORDER BY a.id LIMIT ?"};
DB_STATEMENT(count_statement) = {
    "audit_chain.count_waiting",
    "SELECT COUNT(*) FROM audit_log a LEFT JOIN audit_chain c ON c.audit_id = a.id"
    " WHERE c.audit_id IS NULL"};
DB_STATEMENT(page_statement) = {"audit_chain.page",
                                "SELECT " LINK_COLUMNS ", a.mac_key_id, a.mac, " AUDIT_COLUMNS
                                " FROM audit_chain c LEFT JOIN audit_log a ON a.id = c.audit_id"
                                " WHERE c.seq > ? ORDER BY c.seq LIMIT ?"};
DB_STATEMENT(pruned_statement) = {
    "audit_chain.pruned",
    "SELECT CAST(resource AS UNSIGNED) FROM audit_log WHERE team_id = ? AND action = 'audit.prune'"
    " ORDER BY id DESC LIMIT 1"};
DB_STATEMENT(trimmed_statement) = {
    "audit_chain.trimmed",
    "SELECT id FROM audit_log WHERE resource = ? AND action = 'audit.trim' LIMIT 1"};

static void copy_mac(unsigned char out[MAC_BYTES], const struct db_rows *rows, unsigned column)
{
    size_t size;
    const void *blob = db_get_blob(rows, column, &size);
    memset(out, 0, MAC_BYTES);
    if (size == MAC_BYTES)
        memcpy(out, blob, size);
}

static void read_link(const struct db_rows *rows, struct chain_row *link)
{
    *link = (struct chain_row){
        .seq = db_get_u64(rows, 0),
        .at_ms = db_get_i64(rows, 3),
        .key_id = (uint16_t)db_get_u64(rows, 5),
    };
    db_copy_text(link->audit_id, rows, 1);
    db_copy_text(link->team_id, rows, 2);
    copy_mac(link->row_mac, rows, 4);
    copy_mac(link->hash, rows, 6);
}

int chain_row_last(struct db *db, struct chain_row *link, struct error **err)
{
    bool found;
    *link = (struct chain_row){0};
    return DB_FIND(db, &last_statement, DB_NO_ARGS, read_link, link, &found, err);
}

int chain_row_insert(struct db *db, const struct chain_row *link, struct error **err)
{
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_u64(link->seq), db_text(link->audit_id), db_text(link->team_id),
                           db_i64(link->at_ms), db_blob(link->row_mac, MAC_BYTES),
                           db_u64(link->key_id), db_blob(link->hash, MAC_BYTES)),
                   NULL, err);
}

int chain_row_waiting(struct db *db, const char *from_id, unsigned limit, struct chain_row **out,
                      unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    *out = NULL;
    *count = 0;
    if (db_query(db, &waiting_statement, DB_ARGS(db_text(from_id), db_u64(limit)), &rows, err) < 0)
        return -1;
    *out = xcalloc(limit, sizeof **out);
    while (db_rows_next(rows)) {
        struct chain_row *row = &(*out)[(*count)++];
        db_copy_text(row->audit_id, rows, 0);
        db_copy_text(row->team_id, rows, 1);
        row->at_ms = db_get_i64(rows, 2);
        copy_mac(row->row_mac, rows, 3);
    }
    return 0;
}

int chain_row_count_waiting(struct db *db, uint64_t *count, struct error **err)
{
    return DB_NUMBER(db, &count_statement, DB_NO_ARGS, count, err);
}

int chain_row_page(struct db *db, uint64_t behind_seq, unsigned limit, struct chain_look **looks,
                   unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    *looks = NULL;
    *count = 0;
    if (db_query(db, &page_statement, DB_ARGS(db_u64(behind_seq), db_u64(limit)), &rows, err) < 0)
        return -1;
    *looks = xcalloc(limit, sizeof **looks);
    while (db_rows_next(rows)) {
        struct chain_look *look = &(*looks)[(*count)++];
        read_link(rows, &look->link);
        look->has_row = !db_is_null(rows, LINK_COUNT);
        if (!look->has_row)
            continue;
        look->mac_key_id = (uint16_t)db_get_u64(rows, LINK_COUNT);
        copy_mac(look->mac, rows, LINK_COUNT + 1);
        audit_row_read(rows, LINK_COUNT + 2, &look->entry);
    }
    return 0;
}

int chain_row_pruned_before(struct db *db, const char *team_id, int64_t *before_ms,
                            struct error **err)
{
    return DB_NUMBER(db, &pruned_statement, DB_ARGS(db_text(team_id)), before_ms, err);
}

int chain_row_is_trimmed(struct db *db, const char *resource, bool *is_trimmed, struct error **err)
{
    return db_query_finds(db, &trimmed_statement, DB_ARGS(db_text(resource)), is_trimmed, err);
}
