/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "volume/volume_columns.h"

DB_STATEMENT(list_statement) = {
    "volume_list.all",
    "SELECT " VOLUME_COLUMNS " FROM volumes v FORCE INDEX (volumes_list)" VOLUME_JOINS
    " WHERE v.team_id = ? AND v.visible = 1 AND v.name <> '" VOLUME_BUILD_CACHE "'"
    " AND v.id < ? ORDER BY v.id DESC LIMIT ?"};
/* The limit is higher than the number of sandboxes that a plan allows, running and stopped. */
DB_STATEMENT(attached_statement) = {
    "volume_list.attached",
    "SELECT a.sandbox_id, s.name FROM sandbox_volumes a JOIN sandboxes s ON s.id = a.sandbox_id"
    " WHERE a.team_id = ? AND a.volume_id = ? AND s.visible = 1 ORDER BY a.sandbox_id LIMIT 20000"};

int volume_list(struct db *db, const char *team_id, const char *before, unsigned limit,
                struct volume **volumes, unsigned *count, struct error **err)
{
    /* "~" sorts behind every character of an id. */
    return DB_LIST(db, &list_statement,
                   DB_ARGS(db_text(team_id), db_text(before ? before : "~"), db_u64(limit)),
                   volume_row_read, volumes, count, err);
}

int volume_read_attached(struct db *db, struct volume *volumes, unsigned count, struct error **err)
{
    for (unsigned i = 0; i < count; i++) {
        struct volume *volume = &volumes[i];
        db_rows_auto *rows = NULL;
        if (db_query(db, &attached_statement,
                     DB_ARGS(db_text(volume->team_id), db_text(volume->id)), &rows, err) < 0)
            return -1;
        free(volume->attached_to);
        volume->attached_to = NULL;
        volume->attached_count = 0;
        while (db_rows_next(rows)) {
            volume->attached_to = xreallocarray(volume->attached_to, volume->attached_count + 1,
                                                sizeof *volume->attached_to);
            struct volume_user *user = &volume->attached_to[volume->attached_count++];
            snprintf(user->id, sizeof user->id, "%s", db_get_text(rows, 0));
            snprintf(user->name, sizeof user->name, "%s", db_get_text(rows, 1));
        }
    }
    return 0;
}
