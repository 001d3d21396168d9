/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/share_db.h"

#include <stdio.h>

#include "base/mem.h"

DB_STATEMENT(sandbox_statement) = {"share.sandbox", "SELECT team_id FROM sandboxes WHERE id = ?"};
DB_STATEMENT(volume_statement) = {"share.volume", "SELECT team_id FROM volumes WHERE id = ?"};
DB_STATEMENT(checkpoint_statement) = {"share.checkpoint",
                                      "SELECT team_id FROM checkpoints WHERE id = ?"};
#define FACTS "SELECT state IN ('ready', 'checkpointing'), hooks IS NOT NULL FROM sandboxes WHERE "
DB_STATEMENT(facts_statement) = {"share.facts", FACTS "id = ? UNION ALL " FACTS "route = ?"};

static const struct db_statement *statement_for(const char *id)
{
    static const struct {
        const char *prefix;
        const struct db_statement *statement;
    } rows[] = {
        {"sbx_", &sandbox_statement}, {"vol_", &volume_statement}, {"ckp_", &checkpoint_statement}};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (id_is_valid(rows[i].prefix, id))
            return rows[i].statement;
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
        return error_set(err, ERR_NOT_FOUND, "There is no such object.");
    snprintf(team, ID_SIZE, "%s", db_get_text(rows, 0));
    return 0;
}

int share_facts_of(struct db *db, const char *id, struct share_facts *facts, struct error **err)
{
    db_rows_auto *rows = NULL;
    *facts = (struct share_facts){false, false};
    if (db_query(db, &facts_statement, DB_ARGS(db_text(id), db_text(id)), &rows, err) < 0)
        return -1;
    if (db_rows_next(rows))
        *facts = (struct share_facts){db_get_bool(rows, 0), db_get_bool(rows, 1)};
    return 0;
}
