/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/access_teams.h"

#include "account/principal_row.h"
#include "base/clock.h"
#include "base/str.h"

DB_STATEMENT(of_key_statement) = {
    "access_teams.of_key",
    "SELECT t.id, t.slug, t.plan, m.role, COALESCE(k.expires_at_ms, 0)"
    " FROM api_keys k JOIN users u ON u.id = k.user_id AND u.disabled_at_ms IS NULL"
    " JOIN memberships m ON m.user_id = k.user_id JOIN teams t ON t.id = m.team_id"
    " LEFT JOIN api_key_teams r ON r.api_key_id = k.id AND r.team_id = m.team_id"
    " WHERE k.id = ? AND k.revoked_at_ms IS NULL AND COALESCE(k.expires_at_ms, ?) >= ?"
    " AND k.all_teams <> (r.team_id IS NOT NULL) LIMIT ?"};
DB_STATEMENT(of_login_statement) = {
    "access_teams.of_login",
    "SELECT t.id, t.slug, t.plan, m.role, LEAST(l.idle_at_ms, l.expires_at_ms)"
    " FROM logins l JOIN users u ON u.id = l.user_id AND u.disabled_at_ms IS NULL"
    " JOIN memberships m ON m.user_id = l.user_id JOIN teams t ON t.id = m.team_id"
    " WHERE l.id = ? AND l.idle_at_ms >= ? AND l.expires_at_ms >= ? LIMIT ?"};

int access_teams_read(struct db *db, const char *credential_id, struct principal *principal,
                      struct error **err)
{
    db_rows_auto *rows = NULL;
    struct db_value now = db_i64(clock_now_ms());
    bool is_key = str_starts_with(credential_id, "key_") || str_starts_with(credential_id, "ssk_");
    *principal = (struct principal){0};
    if (db_query(db, is_key ? &of_key_statement : &of_login_statement,
                 DB_ARGS(db_text(credential_id), now, now, db_u64(PRINCIPAL_TEAMS_MAX)), &rows,
                 err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        principal_row_append_team(rows, 0, principal);
        principal->expires_at_ms = db_get_i64(rows, 4);
    }
    return 0;
}
