/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "front/front_row.h"

/* Each front node calls front_note() once a minute. */
#define THERE_MS (5 * 60 * (int64_t)1000)
#define KEPT_MS  (24 * 60 * 60 * (int64_t)1000)

DB_STATEMENT(keys_statement) = {
    "front.keys",
    "SELECT key_id, fingerprint, in_use, added_at_ms FROM keyring_keys ORDER BY key_id"};
DB_STATEMENT(add_key_statement) = {
    "front.add_key",
    "INSERT INTO keyring_keys (key_id, fingerprint, in_use, added_at_ms) VALUES (?, ?, ?, ?)"
    " ON DUPLICATE KEY UPDATE in_use = GREATEST(in_use, VALUES(in_use))"};
DB_STATEMENT(forget_key_statement) = {"front.forget_key",
                                      "DELETE FROM keyring_keys WHERE key_id = ?"};
DB_STATEMENT(put_statement) = {
    "front.put",
    "INSERT INTO fronts (name, settings, seen_at_ms) VALUES (?, ?, ?)"
    " ON DUPLICATE KEY UPDATE settings = VALUES(settings), seen_at_ms = VALUES(seen_at_ms)"};
DB_STATEMENT(drop_statement) = {"front.drop", "DELETE FROM fronts WHERE seen_at_ms < ?"};
DB_STATEMENT(list_statement) = {
    "front.list",
    "SELECT name, settings FROM fronts WHERE seen_at_ms > ? ORDER BY name LIMIT 1000"};

int front_row_keys(struct db *db, struct front_key **keys, unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    *keys = NULL;
    *count = 0;
    if (db_query(db, &keys_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        size_t size;
        *keys = xreallocarray(*keys, *count + 1, sizeof **keys);
        struct front_key *key = &(*keys)[(*count)++];
        const void *fingerprint = db_get_blob(rows, 1, &size);
        *key = (struct front_key){.id = (uint16_t)db_get_u64(rows, 0),
                                  .in_use = db_get_bool(rows, 2),
                                  .added_at_ms = db_get_i64(rows, 3)};
        memcpy(key->fingerprint, fingerprint, size < MAC_BYTES ? size : MAC_BYTES);
    }
    return 0;
}

int front_row_add_key(struct db *db, const struct front_key *key, struct error **err)
{
    return db_exec(db, &add_key_statement,
                   DB_ARGS(db_u64(key->id), db_blob(key->fingerprint, sizeof key->fingerprint),
                           db_bool(key->in_use), db_i64(clock_now_ms())),
                   NULL, err);
}

int front_ring_forget(struct db *db, uint16_t key_id, bool *forgotten, struct error **err)
{
    uint64_t gone;
    if (db_exec(db, &forget_key_statement, DB_ARGS(db_u64(key_id)), &gone, err) < 0)
        return -1;
    *forgotten = gone > 0;
    return 0;
}

int front_row_put(struct db *db, const char *name, const char *settings, struct error **err)
{
    int64_t now_ms = clock_now_ms();
    if (db_exec(db, &put_statement, DB_ARGS(db_text(name), db_text(settings), db_i64(now_ms)), NULL,
                err) < 0)
        return -1;
    return db_exec(db, &drop_statement, DB_ARGS(db_i64(now_ms - KEPT_MS)), NULL, err);
}

static void read_front_row(const struct db_rows *rows, struct front_row *front)
{
    db_copy_text(front->name, rows, 0);
    front->settings = json_loads(db_get_text(rows, 1), 0, NULL);
}

int front_row_list(struct db *db, struct front_row **fronts, unsigned *count, struct error **err)
{
    return DB_LIST(db, &list_statement, DB_ARGS(db_i64(clock_now_ms() - THERE_MS)), read_front_row,
                   fronts, count, err);
}
