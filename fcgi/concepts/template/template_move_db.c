/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "host/host_answers.h"
#include "template/template_move.h"
#include "template/template_row.h"

DB_STATEMENT(leaving_statement) = {
    "template_move.leaving",
    "SELECT v.id FROM hosts h JOIN template_sources t ON t.host_id = h.id"
    " JOIN template_versions v ON v.id = t.template_version_id"
    " WHERE h.leaving > 0 AND h.lost_at_ms IS NULL AND " HOST_ANSWERS(
        "h.") " AND v.state = 'ready' AND NOT EXISTS (SELECT 1 FROM template_sources o"
              "   JOIN hosts a ON a.id = o.host_id WHERE o.template_version_id = v.id"
              "   AND a.state = 'active')"
              " AND NOT EXISTS (SELECT 1 FROM moves m WHERE m.id = v.id"
              "   AND (m.state <> 'failed' OR m.finished_at_ms > ?))"
              " GROUP BY v.id ORDER BY RAND() LIMIT ?"};
DB_STATEMENT(lock_statement) = {
    "template_move.lock",
    "SELECT (SELECT t.owner FROM templates t WHERE t.id = v.template_id) FROM template_versions v"
    " WHERE v.id = ? AND v.state = 'ready' FOR UPDATE"};
DB_STATEMENT(origin_statement) = {
    "template_move.origin",
    "SELECT t.host_id FROM template_sources t JOIN hosts h ON h.id = t.host_id"
    " WHERE t.template_version_id = ? AND h.lost_at_ms IS NULL AND " HOST_ANSWERS(
        "h.") " ORDER BY h.state = 'active' DESC, RAND() LIMIT 1"};
DB_STATEMENT(origins_statement) = {
    "template_move.origins",
    "SELECT t.host_id FROM template_sources t JOIN hosts h ON h.id = t.host_id"
    " WHERE t.template_version_id = ? AND h.lost_at_ms IS NULL AND " HOST_ANSWERS(
        "h.") " ORDER BY h.id LIMIT 4"};
DB_STATEMENT(has_statement) = {
    "template_move.has",
    "SELECT 1 FROM template_sources WHERE template_version_id = ? AND host_id = ?"};
DB_STATEMENT(lacking_statement) = {
    "template_move.lacking",
    "SELECT h.id FROM hosts h WHERE h.state = 'active' AND " HOST_ANSWERS(
        "h.") " AND NOT EXISTS (SELECT 1 FROM template_sources t"
              "   WHERE t.template_version_id = ? AND t.host_id = h.id) ORDER BY RAND() LIMIT ?"};

int template_row_leaving(struct db *db, int64_t failed_before_ms, unsigned limit,
                         char (*ids)[ID_SIZE], unsigned *count, struct error **err)
{
    return move_leaving_ids(db, &leaving_statement, failed_before_ms, limit, ids, count, err);
}

int template_row_lock_ready(struct db *db, const char *version_id, char owner[ID_SIZE],
                            struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &lock_statement, DB_ARGS(db_text(version_id)),
                     "There is no such version of a template.", &rows, err) < 0)
        return -1;
    snprintf(owner, ID_SIZE, "%s", db_get_text(rows, 0));
    return 0;
}

int template_row_origin(struct db *db, const char *version_id, uint32_t *host_id,
                        struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &origin_statement, DB_ARGS(db_text(version_id)),
                     "No reachable host has the template.", &rows, err) < 0)
        return -1;
    *host_id = (uint32_t)db_get_u64(rows, 0);
    return 0;
}

int template_row_origins(struct db *db, const char *version_id,
                         uint32_t host_ids[TEMPLATE_ORIGINS_MAX], unsigned *count,
                         struct error **err)
{
    db_rows_auto *rows = NULL;
    *count = 0;
    if (db_query(db, &origins_statement, DB_ARGS(db_text(version_id)), &rows, err) < 0)
        return -1;
    while (*count < TEMPLATE_ORIGINS_MAX && db_rows_next(rows))
        host_ids[(*count)++] = (uint32_t)db_get_u64(rows, 0);
    return 0;
}

int template_row_lacking(struct db *db, const char *version_id, unsigned limit, uint32_t *host_ids,
                         unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &lacking_statement, DB_ARGS(db_text(version_id), db_u64(limit)), &rows, err) <
        0)
        return -1;
    for (*count = 0; *count < limit && db_rows_next(rows); ++*count)
        host_ids[*count] = (uint32_t)db_get_u64(rows, 0);
    return 0;
}

int template_row_has_source(struct db *db, const char *version_id, uint32_t host_id, bool *has,
                            struct error **err)
{
    return db_query_finds(db, &has_statement, DB_ARGS(db_text(version_id), db_u64(host_id)), has,
                          err);
}
