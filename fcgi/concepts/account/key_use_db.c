/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/key_use.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

#define RESOLUTION_MS ((int64_t)600 * 1000)
#define PLACES        256

DB_STATEMENT(note_statement) = {
    "key_use.note",
    "INSERT INTO api_key_uses (api_key_id, team_id, last_used_at_ms) SELECT ?, id, ? FROM teams"
    " WHERE id = ? AND removed_at_ms IS NULL LOCK IN SHARE MODE"
    " ON DUPLICATE KEY UPDATE last_used_at_ms = VALUES(last_used_at_ms)"};

/* The rows that this process wrote last. Two pairs with the same place are written more often,
 * which is harmless. */
static struct {
    char key_id[ID_SIZE], team_id[ID_SIZE];
    int64_t at_ms;
} noted[PLACES];

static unsigned place_of(const char *key_id, const char *team_id)
{
    unsigned sum = 0;
    /* The last letters of an id are random. */
    for (unsigned i = ID_SIZE - 9; i < ID_SIZE - 1; i++)
        sum = sum * 31 + (unsigned char)key_id[i] + 7 * (unsigned char)team_id[i];
    return sum % PLACES;
}

void key_use_note(struct db *db, const struct principal *principal, const char *team_id)
{
    error_auto err = NULL;
    int64_t now_ms = clock_now_ms();
    const char *key_id = principal->key_id;
    if (!*key_id || str_equal(team_id, principal->personal_team_id))
        return;
    unsigned place = place_of(key_id, team_id);
    if (str_equal(noted[place].key_id, key_id) && str_equal(noted[place].team_id, team_id) &&
        noted[place].at_ms > now_ms - RESOLUTION_MS)
        return;
    if (db_exec(db, &note_statement, DB_ARGS(db_text(key_id), db_i64(now_ms), db_text(team_id)),
                NULL, &err) < 0) {
        log_warning("cannot record in which team a key was used; the next use tries again",
                    LOG_STR("key", key_id), LOG_ERROR(err));
        return;
    }
    snprintf(noted[place].key_id, ID_SIZE, "%s", key_id);
    snprintf(noted[place].team_id, ID_SIZE, "%s", team_id);
    noted[place].at_ms = now_ms;
}
