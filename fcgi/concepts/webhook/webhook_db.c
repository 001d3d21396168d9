/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "crypto/aead.h"
#include "crypto/mac.h"
#include "webhook/webhook.h"

#define SECRET_PREFIX   "whsec_"
#define SEALED_MAX      255
#define ENABLED_MAX     100000
#define PURGE_BATCH     1000
#define CHANGES_MS      90000 /* clocks of front nodes differ, and a commit may be late */
#define DELETED_KEPT_MS (48LL * 3600 * 1000) /* longer than answers to Idempotency-Keys */

#define WEBHOOK_COLUMNS                                                                        \
    "w.id, w.team_id, t.slug, w.url, w.kinds, w.enabled, w.cursor_id, w.old_secret_until_ms, " \
    "w.delivered_at_ms, w.failed_at_ms, w.created_at_ms, w.deleted_at_ms, w.form, "            \
    "COALESCE(w.name, ''), w.created_by"
#define SELECT_WEBHOOK "SELECT " WEBHOOK_COLUMNS " FROM webhooks w JOIN teams t ON t.id = w.team_id"
#define MESSAGE_COLUMNS                                                                     \
    "id, webhook_id, message_id, kind, body, state, attempts, last_status, created_at_ms, " \
    "next_at_ms, COALESCE(last_error, '')"
#define SELECT_MESSAGE "SELECT " MESSAGE_COLUMNS " FROM webhook_messages"

DB_STATEMENT(count_statement) = {
    "webhook.count", "SELECT COUNT(*) FROM webhooks WHERE team_id = ? AND deleted_at_ms IS NULL"};
DB_STATEMENT(insert_statement) = {
    "webhook.insert",
    "INSERT INTO webhooks (id, team_id, url, kinds, enabled, secret, cursor_id, created_by,"
    " created_at_ms, changed_at_ms, form, name) VALUES (?, ?, ?, ?, ?, ?,"
    " (SELECT last_id FROM event_sequencer WHERE one = 1), ?, ?, ?, ?, ?)"};
DB_STATEMENT(get_statement) = {"webhook.get", SELECT_WEBHOOK " WHERE w.id = ?"};
DB_STATEMENT(list_statement) = {
    "webhook.list", SELECT_WEBHOOK
    " WHERE w.team_id = ? AND w.deleted_at_ms IS NULL AND w.id < ? ORDER BY w.id DESC LIMIT ?"};
DB_STATEMENT(update_statement) = {
    "webhook.update",
    "UPDATE webhooks SET url = COALESCE(?, url), kinds = COALESCE(?, kinds),"
    " enabled = COALESCE(?, enabled), name = COALESCE(?, name),"
    " old_secret = IF(?, NULL, old_secret), secret = COALESCE(?, secret), changed_at_ms = ?"
    " WHERE id = ? AND deleted_at_ms IS NULL"};
DB_STATEMENT(delete_statement) = {"webhook.delete",
                                  "UPDATE webhooks SET deleted_at_ms = ?, changed_at_ms = ?, "
                                  "enabled = 0, due_at_ms = NULL, secret = '', old_secret = NULL"
                                  " WHERE id = ? AND deleted_at_ms IS NULL"};
/* A team that creates and deletes webhooks in turn cannot fill the table. */
#define DELETED_OF_TEAM                                                                 \
    " FROM webhooks WHERE team_id = (SELECT team_id FROM (SELECT team_id FROM webhooks" \
    " WHERE id = ?) t) AND deleted_at_ms IS NOT NULL"
DB_STATEMENT(old_statement) = {"webhook.old",
                               "SELECT id" DELETED_OF_TEAM " ORDER BY id DESC LIMIT 1 OFFSET ?"};
DB_STATEMENT(trim_statement) = {"webhook.trim", "DELETE" DELETED_OF_TEAM " AND id <= ?"};
DB_STATEMENT(delete_messages_statement) = {"webhook.delete_messages",
                                           "DELETE FROM webhook_messages WHERE webhook_id = ?"};
DB_STATEMENT(rotate_statement) = {
    "webhook.rotate",
    "UPDATE webhooks SET old_secret = secret, old_secret_until_ms = ?, secret = ? WHERE id = ?"};
DB_STATEMENT(secrets_statement) = {
    "webhook.secrets", "SELECT secret, old_secret, old_secret_until_ms FROM webhooks WHERE id = ?"
                       " AND deleted_at_ms IS NULL"};

DB_STATEMENT(message_get_statement) = {"webhook.message_get",
                                       SELECT_MESSAGE " WHERE webhook_id = ? AND id = ?"};
DB_STATEMENT(message_list_statement) = {
    "webhook.message_list",
    SELECT_MESSAGE " WHERE webhook_id = ? AND id < ? ORDER BY id DESC LIMIT ?"};
DB_STATEMENT(messages_due_statement) = {
    "webhook.messages_due",
    SELECT_MESSAGE " WHERE state = 'waiting' AND webhook_id = ? AND next_at_ms <= ?"
                   " ORDER BY next_at_ms LIMIT ?"};
DB_STATEMENT(message_add_statement) = {
    "webhook.message_add",
    "INSERT IGNORE INTO webhook_messages (id, webhook_id, message_id, kind, body, state, attempts,"
    " created_at_ms, next_at_ms, last_status, last_error)"
    " SELECT ?, id, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM webhooks"
    " WHERE id = ? AND deleted_at_ms IS NULL"};
DB_STATEMENT(message_settle_statement) = {
    "webhook.message_settle",
    "UPDATE webhook_messages SET state = ?, attempts = ?, next_at_ms = ?, last_status = ?,"
    " last_error = ? WHERE id = ?"};
DB_STATEMENT(message_done_statement) = {"webhook.message_done",
                                        "DELETE FROM webhook_messages WHERE id = ?"};
DB_STATEMENT(resend_statement) = {
    "webhook.message_resend",
    "UPDATE webhook_messages SET state = 'waiting', attempts = 0, next_at_ms = ?"
    " WHERE webhook_id = ? AND id = ? AND state = 'dead'"};

#define DEAD_OF_WEBHOOK \
    " WHERE webhook_id = ? AND state = 'dead' AND kind <> '" WEBHOOK_TEST_KIND "'"
DB_STATEMENT(resend_all_statement) = {
    "webhook.messages_resend",
    "UPDATE webhook_messages SET state = 'waiting', attempts = 0, next_at_ms = ?" DEAD_OF_WEBHOOK
    " ORDER BY id LIMIT ?"};
DB_STATEMENT(left_statement) = {"webhook.messages_left",
                                "SELECT COUNT(*) FROM webhook_messages" DEAD_OF_WEBHOOK};

DB_STATEMENT(enabled_statement) = {"webhook.enabled", SELECT_WEBHOOK
                                   " WHERE w.enabled = 1 AND w.deleted_at_ms IS NULL LIMIT ?"};
DB_STATEMENT(changed_statement) = {"webhook.changed",
                                   SELECT_WEBHOOK " WHERE w.changed_at_ms > ? LIMIT ?"};
DB_STATEMENT(due_statement) = {
    "webhook.due",
    "SELECT id FROM webhooks WHERE enabled = 1 AND due_at_ms <= ? ORDER BY due_at_ms LIMIT ?"};
/* The row of the webhook is locked before its messages change, so that no message is missed. */
DB_STATEMENT(lock_statement) = {"webhook.lock", "SELECT id FROM webhooks WHERE id = ? FOR UPDATE"};
DB_STATEMENT(due_earlier_statement) = {
    "webhook.due_earlier",
    "UPDATE webhooks SET due_at_ms = LEAST(COALESCE(due_at_ms, ?), ?) WHERE id = ?"
    " AND deleted_at_ms IS NULL"};
/* A webhook that is due at once comes behind those that are due already. */
DB_STATEMENT(due_next_statement) = {
    "webhook.due_next",
    "UPDATE webhooks SET due_at_ms = (SELECT GREATEST(MIN(m.next_at_ms), ?)"
    " FROM webhook_messages m WHERE m.state = 'waiting' AND m.webhook_id = webhooks.id)"
    " WHERE id = ?"};
DB_STATEMENT(waiting_statement) = {
    "webhook.waiting",
    "SELECT COUNT(*) FROM webhook_messages WHERE state = 'waiting' AND webhook_id = ?"};
DB_STATEMENT(advance_statement) = {
    "webhook.advance",
    "UPDATE webhooks SET cursor_id = GREATEST(cursor_id, ?),"
    " delivered_at_ms = IF(?, ?, delivered_at_ms), failed_at_ms = IF(?, ?, failed_at_ms)"
    " WHERE id = ?"};
DB_STATEMENT(bound_statement) = {
    "webhook.bound",
    "SELECT id FROM webhook_messages WHERE webhook_id = ? AND state IN ('dead', 'delivered')"
    " ORDER BY id DESC LIMIT 1 OFFSET ?"};
DB_STATEMENT(purge_statement) = {
    "webhook.purge",
    "DELETE FROM webhook_messages WHERE webhook_id = ? AND id <= ? AND state IN ('dead',"
    " 'delivered') ORDER BY id LIMIT ?"};
DB_STATEMENT(forget_statement) = {"webhook.forget",
                                  "DELETE FROM webhooks WHERE deleted_at_ms < ? LIMIT ?"};
DB_STATEMENT(backlog_statement) = {
    "webhook.backlog", "SELECT COALESCE((SELECT COUNT(*) FROM events e WHERE e.team_id = w.team_id"
                       "   AND e.id > w.cursor_id), 0)"
                       " FROM webhooks w WHERE w.enabled = 1 ORDER BY w.cursor_id LIMIT 1"};
DB_STATEMENT(dead_statement) = {"webhook.dead",
                                "SELECT COUNT(*) FROM webhook_messages WHERE state = 'dead'"};

/* --- secrets --- */

/* Make a secret: as text, and sealed for its row. */
static int new_secret(const struct keyring *ring, const char *id, char text[WEBHOOK_SECRET_SIZE],
                      struct buffer *sealed, struct error **err)
{
    unsigned char bytes[WEBHOOK_SECRET_BYTES];
    char encoded[BASE64_PADDED_SIZE(WEBHOOK_SECRET_BYTES)];
    random_fill(bytes, sizeof bytes);
    base64_encode(bytes, sizeof bytes, encoded);
    snprintf(text, WEBHOOK_SECRET_SIZE, SECRET_PREFIX "%s", encoded);
    int result = aead_seal(ring, bytes, sizeof bytes, id, sealed, err);
    mem_wipe(bytes, sizeof bytes);
    mem_wipe(encoded, sizeof encoded);
    return result;
}

static int open_secret(const struct keyring *ring, const char *id, const struct db_rows *rows,
                       unsigned column, struct webhook_secrets *secrets, struct error **err)
{
    struct buffer secret = BUFFER_INIT(WEBHOOK_SECRET_MAX);
    size_t size;
    const void *sealed = db_get_blob(rows, column, &size);
    int result = aead_open(ring, sealed, size, id, &secret, err);
    if (result == 0 && secret.size) {
        memcpy(secrets->keys[secrets->count], secret.data, secret.size);
        secrets->sizes[secrets->count++] = secret.size;
    }
    buffer_wipe(&secret);
    return result;
}

int webhook_secrets_load(struct db *db, const struct keyring *ring, const char *id,
                         struct webhook_secrets *secrets, struct error **err)
{
    db_rows_auto *rows = NULL;
    secrets->count = 0;
    if (db_query_row(db, &secrets_statement, DB_ARGS(db_text(id)), "There is no such webhook.",
                     &rows, err) < 0)
        return -1;
    if (open_secret(ring, id, rows, 0, secrets, err) < 0)
        return -1;
    if (db_is_null(rows, 1) || db_get_i64(rows, 2) <= clock_now_ms())
        return 0;
    return open_secret(ring, id, rows, 1, secrets, err);
}

/* --- webhooks --- */

struct creation {
    const struct team *team;
    const char *user_id;
    struct webhook *webhook;
    const struct buffer *sealed;
};

static int create_body(struct db *db, void *context, struct error **err)
{
    const struct creation *creation = context;
    const struct webhook *webhook = creation->webhook;
    struct plan plan;
    uint64_t count;
    if (team_lock(db, creation->team->id, &plan, err) < 0 ||
        DB_NUMBER(db, &count_statement, DB_ARGS(db_text(creation->team->id)), &count, err) < 0)
        return -1;
    if (count >= WEBHOOKS_PER_TEAM)
        return error_set_field(err, ERR_INVALID_REQUEST, "/url",
                               "The team has %d webhooks already; delete one first.",
                               WEBHOOKS_PER_TEAM);
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(webhook->id), db_text(creation->team->id), db_text(webhook->url),
                           db_text(webhook->kinds), db_bool(webhook->enabled),
                           db_blob(creation->sealed->data, creation->sealed->size),
                           db_text(creation->user_id), db_i64(webhook->created_at_ms),
                           db_i64(webhook->created_at_ms),
                           db_text(webhook_form_names[webhook->form]),
                           *webhook->name ? db_text(webhook->name) : db_null()),
                   NULL, err);
}

static void begin_row(struct webhook *webhook, const struct team *team, enum webhook_form form)
{
    id_new("whk_", webhook->id);
    webhook->form = form;
    webhook->created_at_ms = clock_now_ms();
    snprintf(webhook->team_id, sizeof webhook->team_id, "%s", team->id);
    snprintf(webhook->team_slug, sizeof webhook->team_slug, "%s", team->slug);
}

int webhook_create(struct db *db, const struct keyring *ring, const struct team *team,
                   const char *user_id, struct webhook *webhook, char secret[WEBHOOK_SECRET_SIZE],
                   struct error **err)
{
    buffer_auto sealed = BUFFER_INIT(SEALED_MAX);
    struct creation creation = {team, user_id, webhook, &sealed};
    begin_row(webhook, team, WEBHOOK_STANDARD);
    if (new_secret(ring, webhook->id, secret, &sealed, err) < 0)
        return -1;
    return db_transaction(db, create_body, &creation, err);
}

int webhook_create_e2b(struct db *db, const struct keyring *ring, const struct team *team,
                       const char *user_id, struct webhook *webhook, const char *secret,
                       struct error **err)
{
    buffer_auto sealed = BUFFER_INIT(SEALED_MAX);
    struct creation creation = {team, user_id, webhook, &sealed};
    begin_row(webhook, team, WEBHOOK_E2B);
    if (aead_seal(ring, secret, strlen(secret), webhook->id, &sealed, err) < 0)
        return -1;
    return db_transaction(db, create_body, &creation, err);
}

static void read_webhook(const struct db_rows *rows, struct webhook *webhook)
{
    *webhook = (struct webhook){.enabled = db_get_bool(rows, 5),
                                .cursor_id = db_get_u64(rows, 6),
                                .old_secret_until_ms = db_get_i64(rows, 7),
                                .delivered_at_ms = db_get_i64(rows, 8),
                                .failed_at_ms = db_get_i64(rows, 9),
                                .created_at_ms = db_get_i64(rows, 10),
                                .deleted_at_ms = db_get_i64(rows, 11)};
    db_copy_text(webhook->id, rows, 0);
    db_copy_text(webhook->team_id, rows, 1);
    db_copy_text(webhook->team_slug, rows, 2);
    db_copy_text(webhook->url, rows, 3);
    db_copy_text(webhook->kinds, rows, 4);
    webhook->form =
        (enum webhook_form)db_get_name(rows, 12, webhook_form_names, WEBHOOK_FORM_COUNT);
    db_copy_text(webhook->name, rows, 13);
    db_copy_text(webhook->created_by, rows, 14);
}

int webhook_get(struct db *db, const char *id, struct webhook *webhook, struct error **err)
{
    return DB_ROW(db, &get_statement, DB_ARGS(db_text(id)), "There is no such webhook.",
                  read_webhook, webhook, err);
}

int webhook_list(struct db *db, const char *team_id, const char *before, unsigned limit,
                 struct webhook **list, unsigned *count, struct error **err)
{
    return DB_LIST(db, &list_statement,
                   DB_ARGS(db_text(team_id), db_text(before ? before : "~"), db_u64(limit)),
                   read_webhook, list, count, err);
}

int webhook_list_enabled(struct db *db, struct webhook **list, unsigned *count, struct error **err)
{
    return DB_LIST(db, &enabled_statement, DB_ARGS(db_u64(ENABLED_MAX)), read_webhook, list, count,
                   err);
}

static int no_webhook(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "There is no such webhook.");
}

int webhook_update(struct db *db, const struct keyring *ring, const char *id,
                   const struct webhook_change *change, struct webhook *webhook, struct error **err)
{
    buffer_auto sealed = BUFFER_INIT(SEALED_MAX);
    const char *secret = change->secret;
    uint64_t matched;
    if (secret && aead_seal(ring, secret, strlen(secret), id, &sealed, err) < 0)
        return -1;
    if (db_exec(db, &update_statement,
                DB_ARGS(db_text(change->url), db_text(change->kinds),
                        change->enabled ? db_bool(*change->enabled) : db_null(),
                        db_text(change->name), db_bool(secret),
                        secret ? db_blob(sealed.data, sealed.size) : db_null(),
                        db_i64(clock_now_ms()), db_text(id)),
                &matched, err) < 0)
        return -1;
    return matched ? webhook_get(db, id, webhook, err) : no_webhook(err);
}

static int trim_deleted(struct db *db, const char *id, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &old_statement, DB_ARGS(db_text(id), db_u64(WEBHOOKS_DELETED_MAX)), &rows,
                 err) < 0)
        return -1;
    return db_rows_next(rows)
               ? db_exec(db, &trim_statement, DB_ARGS(db_text(id), db_text(db_get_text(rows, 0))),
                         NULL, err)
               : 0;
}

static int delete_body(struct db *db, void *context, struct error **err)
{
    const char *id = context;
    struct db_value now = db_i64(clock_now_ms());
    uint64_t deleted;
    if (db_exec(db, &delete_statement, DB_ARGS(now, now, db_text(id)), &deleted, err) < 0)
        return -1;
    if (!deleted)
        return no_webhook(err);
    if (trim_deleted(db, id, err) < 0)
        return -1;
    return db_exec(db, &delete_messages_statement, DB_ARGS(db_text(id)), NULL, err);
}

int webhook_delete(struct db *db, const char *id, struct error **err)
{
    return db_transaction(db, delete_body, (void *)id, err);
}

int webhook_rotate(struct db *db, const struct keyring *ring, const char *id,
                   char secret[WEBHOOK_SECRET_SIZE], struct error **err)
{
    buffer_auto sealed = BUFFER_INIT(SEALED_MAX);
    if (new_secret(ring, id, secret, &sealed, err) < 0)
        return -1;
    return db_exec(db, &rotate_statement,
                   DB_ARGS(db_i64(clock_in_ms(WEBHOOK_OVERLAP_MS)),
                           db_blob(sealed.data, sealed.size), db_text(id)),
                   NULL, err);
}

int webhook_advance(struct db *db, const char *id, uint64_t cursor_id, bool delivered, bool failed,
                    struct error **err)
{
    struct db_value now = db_i64(clock_now_ms());
    return db_exec(
        db, &advance_statement,
        DB_ARGS(db_u64(cursor_id), db_bool(delivered), now, db_bool(failed), now, db_text(id)),
        NULL, err);
}

/* --- messages --- */

static void read_message(const struct db_rows *rows, struct webhook_message *message)
{
    *message = (struct webhook_message){
        .body = xstrdup(db_get_text(rows, 4)),
        .state = (enum webhook_message_state)db_get_name(rows, 5, webhook_message_state_names,
                                                         MESSAGE_STATE_COUNT),
        .attempts = (unsigned)db_get_u64(rows, 6),
        .last_status = (unsigned)db_get_u64(rows, 7),
        .created_at_ms = db_get_i64(rows, 8),
        .next_at_ms = db_get_i64(rows, 9),
    };
    db_copy_text(message->id, rows, 0);
    db_copy_text(message->webhook_id, rows, 1);
    db_copy_text(message->message_id, rows, 2);
    db_copy_text(message->kind, rows, 3);
    db_copy_text(message->last_error, rows, 10);
}

int webhook_message_get(struct db *db, const char *webhook_id, const char *id,
                        struct webhook_message **message, struct error **err)
{
    unsigned count;
    if (DB_LIST(db, &message_get_statement, DB_ARGS(db_text(webhook_id), db_text(id)), read_message,
                message, &count, err) < 0)
        return -1;
    return count ? 0 : error_set(err, ERR_NOT_FOUND, "The webhook has no such message.");
}

int webhook_message_list(struct db *db, const char *webhook_id, const char *before, unsigned limit,
                         struct webhook_message **list, unsigned *count, struct error **err)
{
    return DB_LIST(db, &message_list_statement,
                   DB_ARGS(db_text(webhook_id), db_text(before ? before : "~"), db_u64(limit)),
                   read_message, list, count, err);
}

int webhook_messages_due(struct db *db, const char *webhook_id, unsigned limit,
                         struct webhook_message **list, unsigned *count, struct error **err)
{
    return DB_LIST(db, &messages_due_statement,
                   DB_ARGS(db_text(webhook_id), db_i64(clock_now_ms()), db_u64(limit)),
                   read_message, list, count, err);
}

static struct db_value status_value(const struct webhook_message *message)
{
    return message->last_status ? db_u64(message->last_status) : db_null();
}

static int due_earlier(struct db *db, const char *webhook_id, int64_t at_ms, struct error **err)
{
    return db_exec(db, &due_earlier_statement,
                   DB_ARGS(db_i64(at_ms), db_i64(at_ms), db_text(webhook_id)), NULL, err);
}

static int add_body(struct db *db, void *context, struct error **err)
{
    const struct webhook_message *message = context;
    char id[ID_SIZE];
    if (message->state == MESSAGE_WAITING &&
        due_earlier(db, message->webhook_id, message->next_at_ms, err) < 0)
        return -1;
    return db_exec(
        db, &message_add_statement,
        DB_ARGS(db_text(*message->id ? message->id : id_new("whm_", id)),
                db_text(message->message_id), db_text(message->kind), db_text(message->body),
                db_text(webhook_message_state_names[message->state]), db_u64(message->attempts),
                db_i64(message->created_at_ms), db_i64(message->next_at_ms), status_value(message),
                db_text(*message->last_error ? message->last_error : NULL),
                db_text(message->webhook_id)),
        NULL, err);
}

int webhook_message_add(struct db *db, const struct webhook_message *message, struct error **err)
{
    return db_transaction(db, add_body, (void *)message, err);
}

int webhook_message_settle(struct db *db, const struct webhook_message *message, struct error **err)
{
    bool stays = message->state != MESSAGE_DELIVERED || !strcmp(message->kind, WEBHOOK_TEST_KIND);
    if (!stays)
        return db_exec(db, &message_done_statement, DB_ARGS(db_text(message->id)), NULL, err);
    return db_exec(
        db, &message_settle_statement,
        DB_ARGS(db_text(webhook_message_state_names[message->state]), db_u64(message->attempts),
                db_i64(message->next_at_ms), status_value(message),
                db_text(*message->last_error ? message->last_error : NULL), db_text(message->id)),
        NULL, err);
}

/* Dead letters to send again. */
struct resending {
    const char *webhook_id, *id; /* id NULL: the oldest */
    unsigned room;
    uint64_t matched;
};

static int resend_body(struct db *db, void *context, struct error **err)
{
    struct resending *resending = context;
    struct db_value webhook = db_text(resending->webhook_id);
    int64_t now_ms = clock_now_ms();
    if (due_earlier(db, resending->webhook_id, now_ms, err) < 0)
        return -1;
    return resending->id ? db_exec(db, &resend_statement,
                                   DB_ARGS(db_i64(now_ms), webhook, db_text(resending->id)),
                                   &resending->matched, err)
                         : db_exec(db, &resend_all_statement,
                                   DB_ARGS(db_i64(now_ms), webhook, db_u64(resending->room)),
                                   &resending->matched, err);
}

int webhook_message_resend(struct db *db, const char *webhook_id, const char *id,
                           struct error **err)
{
    struct resending resending = {.webhook_id = webhook_id, .id = id};
    if (db_transaction(db, resend_body, &resending, err) < 0)
        return -1;
    return resending.matched
               ? 0
               : error_set(err, ERR_NOT_FOUND, "The webhook has no such dead letter.");
}

static int count_messages(struct db *db, const struct db_statement *statement,
                          const char *webhook_id, unsigned *count, struct error **err)
{
    return DB_NUMBER(db, statement, DB_ARGS(db_text(webhook_id)), count, err);
}

/* Refuse a webhook whose backlog is full. room: the number of messages that it may still get.
 * Requests at the same time may pass the limit by a few messages. */
static int check_waiting(struct db *db, const char *webhook_id, unsigned *room, struct error **err)
{
    unsigned waiting;
    if (count_messages(db, &waiting_statement, webhook_id, &waiting, err) < 0)
        return -1;
    *room = waiting < WEBHOOK_WAITING_MAX ? WEBHOOK_WAITING_MAX - waiting : 0;
    if (*room)
        return 0;
    return error_set(err, ERR_RATE_LIMITED,
                     "%d messages of the webhook are waiting already; try again later.",
                     WEBHOOK_WAITING_MAX);
}

int webhook_resend_dead(struct db *db, const char *webhook_id, unsigned *resent, unsigned *left,
                        struct error **err)
{
    struct resending resending = {.webhook_id = webhook_id};
    if (check_waiting(db, webhook_id, &resending.room, err) < 0 ||
        db_transaction(db, resend_body, &resending, err) < 0)
        return -1;
    *resent = (unsigned)resending.matched;
    return count_messages(db, &left_statement, webhook_id, left, err);
}

int webhook_test(struct db *db, const char *webhook_id, char id[ID_SIZE], struct error **err)
{
    char at[CLOCK_ISO8601_SIZE];
    int64_t now_ms = clock_now_ms();
    unsigned room;
    if (check_waiting(db, webhook_id, &room, err) < 0)
        return -1;
    id_new("whm_", id);
    autofree char *body = xasprintf("{\"type\":\"" WEBHOOK_TEST_KIND
                                    "\",\"timestamp\":\"%s\",\"data\":{\"webhook_id\":\"%s\"}}",
                                    clock_format_iso8601(now_ms, at), webhook_id);
    struct webhook_message message = {
        .kind = WEBHOOK_TEST_KIND, .body = body, .created_at_ms = now_ms, .next_at_ms = now_ms};
    snprintf(message.id, sizeof message.id, "%s", id);
    snprintf(message.message_id, sizeof message.message_id, "%s", id);
    snprintf(message.webhook_id, sizeof message.webhook_id, "%s", webhook_id);
    return webhook_message_add(db, &message, err);
}

/* --- for the delivery --- */

int webhook_list_changed(struct db *db, struct webhook **list, unsigned *count, struct error **err)
{
    return DB_LIST(db, &changed_statement,
                   DB_ARGS(db_i64(clock_now_ms() - CHANGES_MS), db_u64(ENABLED_MAX)), read_webhook,
                   list, count, err);
}

int webhook_list_due(struct db *db, unsigned limit, char (*ids)[ID_SIZE], unsigned *count,
                     struct error **err)
{
    *count = 0;
    return db_query_ids(db, &due_statement, DB_ARGS(db_i64(clock_now_ms()), db_u64(limit)), limit,
                        ids, count, err);
}

static int due_next_body(struct db *db, void *context, struct error **err)
{
    struct db_value id = db_text(context);
    bool there;
    if (db_query_finds(db, &lock_statement, DB_ARGS(id), &there, err) < 0)
        return -1;
    return db_exec(db, &due_next_statement, DB_ARGS(db_i64(clock_now_ms()), id), NULL, err);
}

int webhook_due_next(struct db *db, const char *id, struct error **err)
{
    return db_transaction(db, due_next_body, (void *)id, err);
}

int webhook_waiting(struct db *db, const char *id, unsigned *count, struct error **err)
{
    return count_messages(db, &waiting_statement, id, count, err);
}

int webhook_trim(struct db *db, const char *id, struct error **err)
{
    db_rows_auto *bound = NULL;
    if (db_query(db, &bound_statement, DB_ARGS(db_text(id), db_u64(WEBHOOK_DEAD_MAX)), &bound,
                 err) < 0)
        return -1;
    return db_rows_next(bound)
               ? db_exec(db, &purge_statement,
                         DB_ARGS(db_text(id), db_text(db_get_text(bound, 0)), db_u64(PURGE_BATCH)),
                         NULL, err)
               : 0;
}

int webhook_purge(struct db *db, struct error **err)
{
    return db_exec(db, &forget_statement,
                   DB_ARGS(db_i64(clock_now_ms() - DELETED_KEPT_MS), db_u64(PURGE_BATCH)), NULL,
                   err);
}

int webhook_backlog(struct db *db, uint64_t *behind, uint64_t *dead, struct error **err)
{
    if (DB_NUMBER(db, &backlog_statement, DB_NO_ARGS, behind, err) < 0)
        return -1;
    return DB_NUMBER(db, &dead_statement, DB_NO_ARGS, dead, err);
}
