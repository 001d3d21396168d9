/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/client_network.h"
#include "base/clock.h"
#include "base/str.h"
#include "login/device_row.h"
#include "login/login_row.h"

/* Expired logins are kept this long, so that polling programs learn the reason. */
#define KEPT_MS ((int64_t)DEVICE_TTL_S * 1000)

DB_STATEMENT(count_statement) = {"device.count", "SELECT COUNT(*) FROM device_logins"};
DB_STATEMENT(insert_statement) = {
    "device.insert",
    "INSERT INTO device_logins (id, hash_key_id, hash, user_code, client, address, network, state,"
    " created_at_ms, expires_at_ms, poll_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', ?, ?, 0)"};
DB_STATEMENT(find_code_statement) = {
    "device.find_code",
    "SELECT id, client, address, created_at_ms, expires_at_ms FROM device_logins"
    " WHERE user_code = ? AND state = 'waiting' AND expires_at_ms > ?"};
DB_STATEMENT(decide_statement) = {
    "device.decide", "UPDATE device_logins SET state = ?, user_id = ?, login_id = ?,"
                     " epoch = (SELECT credentials_epoch FROM users WHERE id = ?)"
                     " WHERE user_code = ? AND state = 'waiting' AND expires_at_ms > ?"};
DB_STATEMENT(find_statement) = {
    "device.find",
    "SELECT d.hash_key_id, d.hash, d.state, d.user_id, d.client, d.expires_at_ms, d.poll_at_ms,"
    " COALESCE(u.credentials_epoch = d.epoch AND u.disabled_at_ms IS NULL, 0), d.login_id,"
    " COALESCE(u.personal_team_id, '')"
    " FROM device_logins d LEFT JOIN users u ON u.id = d.user_id WHERE d.id = ?"};
DB_STATEMENT(polled_statement) = {"device.polled",
                                  "UPDATE device_logins SET poll_at_ms = ? WHERE id = ?"};
DB_STATEMENT(take_statement) = {"device.take",
                                "DELETE FROM device_logins WHERE id = ? AND state = 'approved'"};
DB_STATEMENT(purge_statement) = {
    "device.purge",
    "DELETE FROM device_logins WHERE expires_at_ms < ? ORDER BY expires_at_ms LIMIT 1000"};

DB_STATEMENT(crowded_statement) = {
    "device.crowded",
    "SELECT network, COUNT(*) > (SELECT COUNT(*) FROM device_logins WHERE network = ?)"
    " FROM device_logins GROUP BY network ORDER BY COUNT(*) DESC, MIN(id) LIMIT 1"};
DB_STATEMENT(crowd_out_statement) = {
    "device.crowd_out", "DELETE FROM device_logins WHERE network = ? ORDER BY id LIMIT 1"};

int device_row_count(struct db *db, uint64_t *count, struct error **err)
{
    return DB_NUMBER(db, &count_statement, DB_NO_ARGS, count, err);
}

int device_row_crowd_out(struct db *db, const char *network, bool *made_room, struct error **err)
{
    char largest[CLIENT_NETWORK_SIZE] = "";
    {
        db_rows_auto *rows = NULL;
        if (db_query(db, &crowded_statement, DB_ARGS(db_text(network)), &rows, err) < 0)
            return -1;
        *made_room = db_rows_next(rows) && db_get_bool(rows, 1);
        if (*made_room)
            db_copy_text(largest, rows, 0);
    }
    if (!*made_room)
        return 0;
    return db_exec(db, &crowd_out_statement, DB_ARGS(db_text(largest)), NULL, err);
}

int device_row_insert(struct db *db, const struct device *device, const char *code,
                      const struct secret_hash *kept, struct error **err)
{
    char network[CLIENT_NETWORK_SIZE];
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(device->id), db_u64(kept->key_id),
                           db_blob(kept->hash, sizeof kept->hash), db_text(code),
                           db_text(device->client), db_text(device->address),
                           db_text(client_network_wide(device->address, network)),
                           db_i64(device->created_at_ms), db_i64(device->expires_at_ms)),
                   NULL, err);
}

int device_row_find_code(struct db *db, const char *code, bool *found, struct device *device,
                         struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &find_code_statement, DB_ARGS(db_text(code), db_i64(clock_now_ms())), &rows,
                 err) < 0)
        return -1;
    *found = db_rows_next(rows);
    if (!*found)
        return 0;
    db_copy_text(device->id, rows, 0);
    db_copy_text(device->client, rows, 1);
    db_copy_text(device->address, rows, 2);
    device->created_at_ms = db_get_i64(rows, 3);
    device->expires_at_ms = db_get_i64(rows, 4);
    return 0;
}

int device_row_decide(struct db *db, const char *code, const struct device_answer *answer,
                      bool *decided, struct error **err)
{
    uint64_t changed;
    struct db_value user = db_text(answer->user_id);
    if (db_exec(db, &decide_statement,
                DB_ARGS(db_text(answer->is_approved ? "approved" : "refused"), user,
                        answer->login_id ? db_text(answer->login_id) : db_null(), user,
                        db_text(code), db_i64(clock_now_ms())),
                &changed, err) < 0)
        return -1;
    *decided = changed > 0;
    return 0;
}

static enum device_state state_of(const char *text)
{
    return str_equal(text, "waiting")    ? DEVICE_WAITING
           : str_equal(text, "approved") ? DEVICE_APPROVED
                                         : DEVICE_REFUSED;
}

int device_row_find(struct db *db, const char *id, struct device_row *row, struct error **err)
{
    db_rows_auto *rows = NULL;
    *row = (struct device_row){.state = DEVICE_ABSENT};
    if (db_query(db, &find_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    secret_hash_read(rows, 0, &row->kept);
    row->state = state_of(db_get_text(rows, 2));
    if (row->state != DEVICE_WAITING)
        db_copy_text(row->user.id, rows, 3);
    db_copy_text(row->user.personal_team_id, rows, 9);
    db_copy_text(row->client, rows, 4);
    row->expires_at_ms = db_get_i64(rows, 5);
    row->poll_at_ms = db_get_i64(rows, 6);
    row->is_current = db_get_i64(rows, 7);
    if (!db_is_null(rows, 8))
        db_copy_text(row->login_id, rows, 8);
    return 0;
}

int device_row_polled(struct db *db, const char *id, int64_t poll_at_ms, struct error **err)
{
    return db_exec(db, &polled_statement, DB_ARGS(db_i64(poll_at_ms), db_text(id)), NULL, err);
}

int device_row_take(struct db *db, const char *id, bool *taken, struct error **err)
{
    uint64_t gone;
    if (db_exec(db, &take_statement, DB_ARGS(db_text(id)), &gone, err) < 0)
        return -1;
    *taken = gone > 0;
    return 0;
}

int device_purge(struct db *db, struct error **err)
{
    return db_exec_all(db, &purge_statement, DB_ARGS(db_i64(clock_now_ms() - KEPT_MS)), 1000, err);
}
