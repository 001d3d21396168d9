/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "crypto/aead.h"
#include "crypto/mac.h"
#include "idempotency/idempotency.h"

#define KEY_MAX         255

#define TRIM_BATCH      500
#define TRIM_ROUNDS_MAX 20
#define TRIM_SIZE       16384
#define TRIM_SELDOM     32

DB_STATEMENT(insert_statement) = {
    "idempotency.insert",
    "INSERT INTO idempotency_keys (id, user_id, method, path, idempotency_key, body_key_id,"
    " body_mac, state, attempt, attempts, lease_until_ms, created_at_ms)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, 'running', ?, 1, ?, ?)"};
DB_STATEMENT(get_statement) = {
    "idempotency.get",
    "SELECT id, body_key_id, body_mac, state, attempts, lease_until_ms, made_id, status,"
    " answer_sealed, created_at_ms FROM idempotency_keys"
    " WHERE user_id = ? AND method = ? AND path = ? AND idempotency_key = ? FOR UPDATE"};
DB_STATEMENT(take_statement) = {
    "idempotency.take",
    "UPDATE idempotency_keys SET attempt = ?, attempts = attempts + 1, lease_until_ms = ?"
    " WHERE id = ?"};
DB_STATEMENT(attach_statement) = {
    "idempotency.attach",
    "UPDATE idempotency_keys SET made_id = ? WHERE id = ? AND attempt = ? AND state = 'running'"};
DB_STATEMENT(finish_statement) = {
    "idempotency.finish",
    "UPDATE idempotency_keys SET state = 'done', status = ?, answer_sealed = ?, answer_bytes = ?, "
    "made_id = ?"
    " WHERE id = ? AND attempt = ? AND state = 'running'"};
DB_STATEMENT(abandon_statement) = {
    "idempotency.abandon",
    "UPDATE idempotency_keys SET lease_until_ms = 0 WHERE id = ? AND attempt = ? AND"
    " state = 'running'"};
DB_STATEMENT(detach_statement) = {"idempotency.detach",
                                  "UPDATE idempotency_keys SET made_id = NULL"
                                  " WHERE id = ? AND attempt = ? AND state = 'running'"};
DB_STATEMENT(release_statement) = {
    "idempotency.release",
    "DELETE FROM idempotency_keys WHERE id = ? AND attempt = ? AND state = 'running'"
    " AND made_id IS NULL"};
DB_STATEMENT(delete_statement) = {"idempotency.delete",
                                  "DELETE FROM idempotency_keys WHERE id = ?"};
DB_STATEMENT(purge_statement) = {"idempotency.purge",
                                 "DELETE FROM idempotency_keys WHERE created_at_ms < ? LIMIT 1000"};

/* Both read the index of users alone. */
DB_STATEMENT(use_statement) = {
    "idempotency.use",
    "SELECT COUNT(*), COALESCE(SUM(answer_bytes), 0) FROM idempotency_keys WHERE user_id = ?"};
DB_STATEMENT(trim_statement) = {
    "idempotency.trim",
    "DELETE FROM idempotency_keys WHERE user_id = ? AND lease_until_ms < ? ORDER BY created_at_ms "
    "LIMIT ?"};

void idempotency_deinit(struct idempotency *idempotency)
{
    buffer_wipe(&idempotency->answer);
}

struct begin {
    const struct keyring *ring;
    const struct idempotency_scope *scope;
    uint64_t lease_s;
    struct idempotency *out;
};

static int check_key(const char *key, struct error **err)
{
    size_t length = strlen(key);
    bool printable = true;
    for (size_t i = 0; i < length; i++)
        printable &= key[i] > ' ' && key[i] < 0x7f;
    if (length >= 1 && length <= KEY_MAX && printable)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "Idempotency-Key",
                           "An Idempotency-Key is 1 to %d printable ASCII characters without "
                           "blanks.",
                           KEY_MAX);
}

static int body_mac(const struct begin *begin, uint16_t key_id, unsigned char mac[MAC_BYTES],
                    struct error **err)
{
    return mac_compute(begin->ring, key_id, KEY_PURPOSE_IDEMPOTENCY, begin->scope->body,
                       begin->scope->body_size, mac, err);
}

/* Insert the row of the first request with this key. Errors: ERR_DB_DUPLICATE: it is not the
 * first. */
static int insert_claim(struct db *db, struct begin *begin, struct error **err)
{
    const struct idempotency_scope *scope = begin->scope;
    struct idempotency *out = begin->out;
    unsigned char mac[MAC_BYTES];
    uint16_t key_id = keyring_newest(begin->ring);
    int64_t now_ms = clock_now_ms();
    if (body_mac(begin, key_id, mac, err) < 0)
        return -1;
    id_new("idk_", out->id);
    out->attempts = 1;
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(out->id), db_text(scope->user_id), db_text(scope->method),
                           db_text(scope->path), db_text(scope->key), db_u64(key_id),
                           db_blob(mac, sizeof mac), db_text(out->attempt),
                           db_i64(now_ms + (int64_t)begin->lease_s * 1000), db_i64(now_ms)),
                   NULL, err);
}

static int read_answer(const struct begin *begin, const struct db_rows *rows, struct error **err)
{
    struct idempotency *out = begin->out;
    size_t size;
    const void *sealed = db_get_blob(rows, 8, &size);
    out->verdict = IDEMPOTENCY_REPLAY;
    out->status = (int)db_get_u64(rows, 7);
    buffer_wipe(&out->answer);
    return size ? aead_open(begin->ring, sealed, size, out->id, &out->answer, err) : 0;
}

/* Decide by the locked row: refuse another body or a request in progress, return the answer, or
 * take the claim over. */
static int judge(struct db *db, struct begin *begin, const struct db_rows *rows, struct error **err)
{
    struct idempotency *out = begin->out;
    unsigned char mac[MAC_BYTES];
    size_t size;
    const unsigned char *stored = db_get_blob(rows, 2, &size);
    db_copy_text(out->id, rows, 0);
    db_copy_text(out->made_id, rows, 6);
    out->attempts = (unsigned)db_get_u64(rows, 4) + 1;
    if (body_mac(begin, (uint16_t)db_get_u64(rows, 1), mac, err) < 0)
        return -1;
    if (size != sizeof mac || !mac_equal(mac, stored))
        return error_set_field(err, ERR_IDEMPOTENCY_KEY_REUSED, "Idempotency-Key",
                               "This Idempotency-Key was used with another body.");
    if (!strcmp(db_get_text(rows, 3), "done"))
        return read_answer(begin, rows, err);
    int64_t now_ms = clock_now_ms();
    if (db_get_i64(rows, 5) > now_ms)
        return error_set_field(err, ERR_REQUEST_IN_PROGRESS, "Idempotency-Key",
                               "The first request with this Idempotency-Key is still running.");
    return db_exec(db, &take_statement,
                   DB_ARGS(db_text(out->attempt), db_i64(now_ms + (int64_t)begin->lease_s * 1000),
                           db_text(out->id)),
                   NULL, err);
}

static int begin_body(struct db *db, void *context, struct error **err)
{
    struct begin *begin = context;
    const struct idempotency_scope *scope = begin->scope;
    db_rows_auto *rows = NULL;
    begin->out->verdict = IDEMPOTENCY_RUN;
    begin->out->made_id[0] = '\0';
    if (db_query(db, &get_statement,
                 DB_ARGS(db_text(scope->user_id), db_text(scope->method), db_text(scope->path),
                         db_text(scope->key)),
                 &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return insert_claim(db, begin, err);
    bool expired = db_get_i64(rows, 9) < clock_now_ms() - IDEMPOTENCY_KEEP_MS;
    if (!expired)
        return judge(db, begin, rows, err);
    if (db_exec(db, &delete_statement, DB_ARGS(db_text(db_get_text(rows, 0))), NULL, err) < 0)
        return -1;
    return insert_claim(db, begin, err);
}

int idempotency_begin(struct db *db, const struct keyring *ring,
                      const struct idempotency_scope *scope, uint64_t lease_s,
                      struct idempotency *idempotency, struct error **err)
{
    struct begin begin = {ring, scope, lease_s, idempotency};
    *idempotency = (struct idempotency){0};
    buffer_init(&idempotency->answer, IDEMPOTENCY_ANSWER_MAX);
    id_new("att_", idempotency->attempt);
    snprintf(idempotency->user_id, sizeof idempotency->user_id, "%s", scope->user_id);
    if (check_key(scope->key, err) < 0)
        return -1;
    if (db_transaction(db, begin_body, &begin, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_DB_DUPLICATE))
        return -1;
    /* A parallel request inserted the row first; read it now. */
    return db_transaction(db, begin_body, &begin, err);
}

int idempotency_attach(struct db *db, const struct idempotency *idempotency, const char *made_id,
                       struct error **err)
{
    uint64_t matched;
    if (db_exec(db, &attach_statement,
                DB_ARGS(db_text(made_id), db_text(idempotency->id), db_text(idempotency->attempt)),
                &matched, err) < 0)
        return -1;
    if (!matched)
        return error_set_field(err, ERR_REQUEST_IN_PROGRESS, "Idempotency-Key",
                               "A later request with this Idempotency-Key has taken over.");
    return 0;
}

/* A user's oldest answers make room for newer ones. Rows whose request still runs stay. */
static int trim(struct db *db, const char *user_id, struct error **err)
{
    for (unsigned round = 0; round < TRIM_ROUNDS_MAX; round++) {
        db_rows_auto *rows = NULL;
        uint64_t removed;
        if (db_query(db, &use_statement, DB_ARGS(db_text(user_id)), &rows, err) < 0)
            return -1;
        if (!db_rows_next(rows) || (db_get_u64(rows, 0) <= IDEMPOTENCY_ROWS_MAX &&
                                    db_get_u64(rows, 1) <= IDEMPOTENCY_BYTES_MAX))
            return 0;
        if (db_exec(db, &trim_statement,
                    DB_ARGS(db_text(user_id), db_i64(clock_now_ms()), db_u64(TRIM_BATCH)), &removed,
                    err) < 0)
            return -1;
        if (!removed)
            return 0;
    }
    return 0;
}

/* Trim a user's rows always after a large answer, and by chance after a small one: counting them
 * takes up to some milliseconds. */
static int trim_now_and_then(struct db *db, const char *user_id, size_t size, struct error **err)
{
    bool is_due = size >= TRIM_SIZE || randombytes_uniform(TRIM_SELDOM) == 0;
    return is_due ? trim(db, user_id, err) : 0;
}

int idempotency_finish(struct db *db, const struct keyring *ring,
                       const struct idempotency *idempotency, int status, const char *made_id,
                       const char *answer, size_t size, struct error **err)
{
    buffer_auto sealed = BUFFER_INIT(IDEMPOTENCY_ANSWER_MAX + 128);
    if (size && aead_seal(ring, answer, size, idempotency->id, &sealed, err) < 0)
        return -1;
    if (db_exec(db, &finish_statement,
                DB_ARGS(db_u64((uint64_t)status),
                        sealed.size ? db_blob(sealed.data, sealed.size) : db_null(),
                        db_u64(sealed.size), db_text(made_id && *made_id ? made_id : NULL),
                        db_text(idempotency->id), db_text(idempotency->attempt)),
                NULL, err) < 0)
        return -1;
    return trim_now_and_then(db, idempotency->user_id, sealed.size, err);
}

int idempotency_abandon(struct db *db, const struct idempotency *idempotency, struct error **err)
{
    if (db_exec(db, &abandon_statement,
                DB_ARGS(db_text(idempotency->id), db_text(idempotency->attempt)), NULL, err) < 0)
        return -1;
    return trim_now_and_then(db, idempotency->user_id, 0, err);
}

int idempotency_detach(struct db *db, const struct idempotency *idempotency, struct error **err)
{
    return db_exec(db, &detach_statement,
                   DB_ARGS(db_text(idempotency->id), db_text(idempotency->attempt)), NULL, err);
}

int idempotency_release(struct db *db, const struct idempotency *idempotency, struct error **err)
{
    uint64_t deleted;
    if (db_exec(db, &release_statement,
                DB_ARGS(db_text(idempotency->id), db_text(idempotency->attempt)), &deleted,
                err) < 0)
        return -1;
    return deleted ? 0 : idempotency_abandon(db, idempotency, err);
}

int idempotency_purge(struct db *db, struct error **err)
{
    return db_exec_all(db, &purge_statement, DB_ARGS(db_i64(clock_now_ms() - IDEMPOTENCY_KEEP_MS)),
                       1000, err);
}
