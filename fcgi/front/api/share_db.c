/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/share_db.h"

#include <stdio.h>

#include "base/mem.h"

static const struct db_statement sandbox_statement = {
    "share.sandbox", "SELECT team_id FROM sandboxes WHERE id = ?", true};
static const struct db_statement volume_statement = {
    "share.volume", "SELECT team_id FROM volumes WHERE id = ?", true};
static const struct db_statement checkpoint_statement = {
    "share.checkpoint", "SELECT team_id FROM checkpoints WHERE id = ?", true};

static const struct db_statement *const statements[] = {&sandbox_statement, &volume_statement,
                                                        &checkpoint_statement};
const struct db_statement_list share_statements = DB_STATEMENT_LIST(statements);

static const struct db_statement *statement_for(const char *id)
{
    static const char *const prefixes[] = {"sbx_", "vol_", "ckp_"};
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        if (id_is_valid(prefixes[i], id))
            return statements[i];
    return NULL;
}

bool share_has_team(const char *id)
{
    return statement_for(id) != NULL;
}

int share_team_of(struct db *db, const char *id, char team[ID_SIZE], struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, statement_for(id), DB_ARGS(db_text(id)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows) || db_is_null(rows, 0))
        return error_set(err, ERR_NOT_FOUND, "There is no such thing.");
    snprintf(team, ID_SIZE, "%s", db_get_text(rows, 0));
    return 0;
}
