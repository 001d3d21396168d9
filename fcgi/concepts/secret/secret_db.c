/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/aead.h"
#include "secret/changed_secret.h"
#include "secret/secret.h"

#define SEALED_MAX (SECRET_VALUE_MAX + 128)

#define SELECT_SECRET                                                                    \
    "SELECT s.id, s.name, t.slug, s.hosts, s.version, s.created_at_ms, s.updated_at_ms," \
    " COALESCE(s.used_at_ms, 0), COALESCE(s.metadata, '{}'), s.created_by,"              \
    " s.for_sandboxes FROM secrets s"                                                    \
    " JOIN teams t ON t.id = s.team_id WHERE s.team_id = ?"

DB_STATEMENT(get_statement) = {"secret.get", SELECT_SECRET " AND s.name = ?"};
DB_STATEMENT(list_statement) = {"secret.list", SELECT_SECRET " ORDER BY s.name LIMIT 1000"};
DB_STATEMENT(count_statement) = {
    "secret.count", "SELECT COUNT(*) FROM secrets WHERE team_id = ? AND for_sandboxes = ?"};
DB_STATEMENT(insert_statement) = {
    "secret.insert",
    "INSERT INTO secrets (id, team_id, name, hosts, value, metadata, for_sandboxes, created_by,"
    " created_at_ms, updated_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"};
/* NULL leaves a column. Metadata alone makes no new version. */
DB_STATEMENT(update_statement) = {
    "secret.update", "UPDATE secrets SET value = COALESCE(?, value), hosts = COALESCE(?, hosts),"
                     " created_by = COALESCE(?, created_by), metadata = COALESCE(?, metadata),"
                     " version = version + ?, updated_at_ms = ? WHERE id = ?"};
DB_STATEMENT(delete_statement) = {"secret.delete",
                                  "DELETE FROM secrets WHERE team_id = ? AND name = ?"};
DB_STATEMENT(renew_statement) = {"secret.renew",
                                 "UPDATE secrets SET updated_at_ms = GREATEST(?, updated_at_ms + "
                                 "1) WHERE team_id = ? AND name = ?"};
DB_STATEMENT(expire_statement) = {
    "secret.expire",
    "DELETE FROM secrets WHERE for_sandboxes = 1 AND updated_at_ms < ? AND NOT EXISTS"
    " (SELECT 1 FROM sandbox_secrets f WHERE f.team_id = secrets.team_id"
    " AND f.name = secrets.name)"
    " AND NOT EXISTS (SELECT 1 FROM team_egress_proxies p WHERE p.team_id = secrets.team_id"
    " AND LOCATE(CONCAT('${secrets.', secrets.name, '}'), p.proxy) > 0) LIMIT 500"};
DB_STATEMENT(reveal_statement) = {"secret.reveal",
                                  "SELECT id, value FROM secrets WHERE team_id = ? AND name = ?"};
DB_STATEMENT(used_statement) = {
    "secret.used",
    "UPDATE secrets s JOIN (SELECT j.name, j.at FROM JSON_TABLE(?, '$[*]' COLUMNS"
    " (name VARCHAR(63) CHARACTER SET ascii PATH '$[0]', at BIGINT PATH '$[1]')) j) u"
    " ON u.name = s.name SET s.used_at_ms = u.at"
    " WHERE s.team_id = ? AND COALESCE(s.used_at_ms, 0) < u.at"};
DB_STATEMENT(unfollow_statement) = {"secret.unfollow",
                                    "DELETE FROM sandbox_secrets WHERE sandbox_id = ?"};
DB_STATEMENT(follow_statement) = {
    "secret.follow", "INSERT INTO sandbox_secrets (sandbox_id, team_id, name) VALUES (?, ?, ?)"};

void secret_deinit(struct secret *secret)
{
    json_decref(secret->hosts);
    json_decref(secret->metadata);
    *secret = (struct secret){0};
}

void secrets_free(struct secret *secrets, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        secret_deinit(&secrets[i]);
    free(secrets);
}

static int not_found(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "There is no such secret.");
}

static void read_secret(const struct db_rows *rows, struct secret *secret)
{
    *secret = (struct secret){.hosts = json_loads(db_get_text(rows, 3), 0, NULL),
                              .metadata = json_loads(db_get_text(rows, 8), 0, NULL),
                              .version = db_get_u64(rows, 4),
                              .created_at_ms = db_get_i64(rows, 5),
                              .updated_at_ms = db_get_i64(rows, 6),
                              .used_at_ms = db_get_i64(rows, 7),
                              .for_sandboxes = db_get_bool(rows, 10)};
    db_copy_text(secret->id, rows, 0);
    db_copy_text(secret->name, rows, 1);
    db_copy_text(secret->team_slug, rows, 2);
    db_copy_text(secret->hosts_by, rows, 9);
}

int secret_get(struct db *db, const char *team_id, const char *name, struct secret *secret,
               struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &get_statement, DB_ARGS(db_text(team_id), db_text(name)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return not_found(err);
    read_secret(rows, secret);
    return 0;
}

int secret_list(struct db *db, const char *team_id, struct secret **secrets, unsigned *count,
                struct error **err)
{
    return DB_LIST(db, &list_statement, DB_ARGS(db_text(team_id)), read_secret, secrets, count,
                   err);
}

/* --- changing --- */

struct put {
    const struct keyring *ring;
    const struct team *team;
    const char *user_id;
    const struct secret_change *change;
    struct secret *secret;
    bool created;
};

static int seal(const struct put *put, const char *id, struct buffer *sealed, struct error **err)
{
    const char *value = put->change->value;
    return aead_seal(put->ring, value, strlen(value), id, sealed, err);
}

static int admit(struct db *db, const struct put *put, struct error **err)
{
    uint64_t count;
    bool made = put->change->for_sandboxes;
    if (!put->change->value || !put->change->hosts)
        return error_set_field(err, ERR_INVALID_REQUEST, put->change->value ? "/hosts" : "/value",
                               "A new secret needs a value and the hosts that it may be sent to.");
    if (DB_NUMBER(db, &count_statement, DB_ARGS(db_text(put->team->id), db_u64(made)), &count,
                  err) < 0)
        return -1;
    if (made && count >= SECRETS_MADE_MAX)
        return error_set_field(err, ERR_INVALID_REQUEST, "/name",
                               "The sandboxes of the team use %d accounts of egress proxies with "
                               "a password already; delete sandboxes that use one first.",
                               SECRETS_MADE_MAX);
    if (!made && count >= SECRETS_PER_TEAM)
        return error_set_field(err, ERR_INVALID_REQUEST, "/name",
                               "The team has %d secrets already; delete one first.",
                               SECRETS_PER_TEAM);
    return 0;
}

/* NULL: none was given. */
static char *metadata_text(const struct put *put)
{
    return put->change->metadata ? json_dumps(put->change->metadata, JSON_COMPACT) : NULL;
}

static int insert(struct db *db, const struct put *put, struct error **err)
{
    char id[ID_SIZE];
    buffer_auto sealed = BUFFER_INIT(SEALED_MAX);
    autofree char *hosts = NULL;
    int64_t now_ms = clock_now_ms();
    if (admit(db, put, err) < 0 || seal(put, id_new("sec_", id), &sealed, err) < 0)
        return -1;
    hosts = json_dumps(put->change->hosts, JSON_COMPACT);
    autofree char *metadata = metadata_text(put);
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(id), db_text(put->team->id), db_text(put->change->name),
                           db_text(hosts), db_blob(sealed.data, sealed.size), db_text(metadata),
                           db_u64(put->change->for_sandboxes), db_text(put->user_id),
                           db_i64(now_ms), db_i64(now_ms)),
                   NULL, err);
}

static int update(struct db *db, const struct put *put, struct error **err)
{
    const struct secret_change *change = put->change;
    const char *id = put->secret->id;
    buffer_auto sealed = BUFFER_INIT(SEALED_MAX);
    if (!change->value && !change->hosts && !change->metadata)
        return 0;
    /* A list has all secrets of a team, and these are many. */
    if (change->metadata && put->secret->for_sandboxes)
        return error_set_field(err, ERR_INVALID_REQUEST, "/metadata",
                               "The secret %s is a password that sandboxes use for an egress "
                               "proxy; it has no metadata.",
                               change->name);
    if (change->value && seal(put, id, &sealed, err) < 0)
        return -1;
    autofree char *metadata = metadata_text(put);
    autofree char *hosts = change->hosts ? json_dumps(change->hosts, JSON_COMPACT) : NULL;
    return db_exec(db, &update_statement,
                   DB_ARGS(change->value ? db_blob(sealed.data, sealed.size) : db_null(),
                           db_text(hosts), db_text(hosts ? put->user_id : NULL), db_text(metadata),
                           db_u64(change->value || hosts), db_i64(clock_now_ms()), db_text(id)),
                   NULL, err);
}

/* Refuse a value without hosts that another user set. Otherwise a member could set a host of his
 * own with any value, and get the value there that an owner sets later. */
static int admit_value(const struct put *put, struct error **err)
{
    if (put->change->hosts || str_equal(put->secret->hosts_by, put->user_id))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "/hosts",
                           "Another user set the hosts of the secret %s. Give the hosts with the "
                           "value, so that no other host gets it.",
                           put->secret->name);
}

/* Refuse a new host without the value. Otherwise a member could add a host of his own, and read the
 * secret there. A member who sends the value knows it already. */
static int admit_hosts(const struct put *put, struct error **err)
{
    size_t index;
    json_t *host;
    if (put->change->value)
        return admit_value(put, err);
    json_array_foreach ((json_t *)put->change->hosts, index, host) {
        autofree char *field = xasprintf("/hosts/%zu", index);
        if (!secret_covers(put->secret, json_string_value(host)))
            return error_set_field(
                err, ERR_INVALID_REQUEST, field,
                "The secret %s is not allowed for %s. To add a host, give the value again.",
                put->secret->name, json_string_value(host));
    }
    return 0;
}

static int put_body(struct db *db, void *context, struct error **err)
{
    struct put *put = context;
    struct plan plan;
    const char *team_id = put->team->id, *name = put->change->name;
    secret_deinit(put->secret);
    if (team_lock(db, team_id, &plan, err) < 0)
        return -1;
    put->created = secret_get(db, team_id, name, put->secret, err) < 0;
    if (put->created && !error_clear_if(err, ERR_NOT_FOUND))
        return -1;
    if (!put->created && put->change->only_new)
        return error_set_field(err, ERR_NAME_TAKEN, "/name",
                               "The team already has a secret with this name.");
    if ((!put->created && admit_hosts(put, err) < 0) ||
        (put->created ? insert(db, put, err) : update(db, put, err)) < 0)
        return -1;
    if ((put->change->value || put->change->hosts) &&
        changed_secret_note(db, team_id, name, err) < 0)
        return -1;
    secret_deinit(put->secret);
    return secret_get(db, team_id, name, put->secret, err);
}

int secret_put(struct db *db, const struct keyring *ring, const struct team *team,
               const char *user_id, const struct secret_change *change, struct secret *secret,
               bool *created, struct error **err)
{
    struct put put = {ring, team, user_id, change, secret, false};
    int result = db_transaction(db, put_body, &put, err);
    if (result < 0)
        secret_deinit(secret);
    else
        changed_secret_spread(db, team->id, change->name);
    *created = put.created;
    return result;
}

struct deletion {
    const char *team_id, *name;
};

static int delete_body(struct db *db, void *context, struct error **err)
{
    const struct deletion *deletion = context;
    uint64_t deleted;
    if (db_exec(db, &delete_statement, DB_ARGS(db_text(deletion->team_id), db_text(deletion->name)),
                &deleted, err) < 0)
        return -1;
    return deleted ? changed_secret_note(db, deletion->team_id, deletion->name, err)
                   : not_found(err);
}

int secret_delete(struct db *db, const char *team_id, const char *name, struct error **err)
{
    struct deletion deletion = {team_id, name};
    if (db_transaction(db, delete_body, &deletion, err) < 0)
        return -1;
    changed_secret_spread(db, team_id, name);
    return 0;
}

int secret_renew(struct db *db, const char *team_id, const char *name, bool *found,
                 struct error **err)
{
    uint64_t changed;
    int result =
        db_exec(db, &renew_statement,
                DB_ARGS(db_i64(clock_now_ms()), db_text(team_id), db_text(name)), &changed, err);
    *found = result == 0 && changed;
    return result;
}

int secrets_expire(struct db *db, struct error **err)
{
    return db_exec(db, &expire_statement, DB_ARGS(db_i64(clock_now_ms() - SECRET_UNUSED_MS)), NULL,
                   err);
}

/* --- using --- */

int secret_reveal(struct db *db, const struct keyring *ring, const char *team_id, const char *name,
                  char **value, struct error **err)
{
    struct buffer plain = BUFFER_INIT(SECRET_VALUE_MAX);
    db_rows_auto *rows = NULL;
    size_t size;
    if (db_query(db, &reveal_statement, DB_ARGS(db_text(team_id), db_text(name)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return not_found(err);
    const void *sealed = db_get_blob(rows, 1, &size);
    int result = aead_open(ring, sealed, size, db_get_text(rows, 0), &plain, err);
    if (result == 0)
        *value = xstrndup(buffer_string(&plain), plain.size);
    buffer_wipe(&plain);
    return result;
}

int secret_follow(struct db *db, const char *team_id, const char *sandbox_id, const json_t *names,
                  bool is_new_sandbox, struct error **err)
{
    const char *name;
    json_t *ignored;
    if (!is_new_sandbox && secret_unfollow(db, sandbox_id, err) < 0)
        return -1;
    json_object_foreach ((json_t *)names, name, ignored) {
        if (db_exec(db, &follow_statement,
                    DB_ARGS(db_text(sandbox_id), db_text(team_id), db_text(name)), NULL, err) < 0)
            return -1;
    }
    return 0;
}

int secret_unfollow(struct db *db, const char *sandbox_id, struct error **err)
{
    return db_exec(db, &unfollow_statement, DB_ARGS(db_text(sandbox_id)), NULL, err);
}

int secrets_used(struct db *db, const char *team_id, const json_t *uses, struct error **err)
{
    const char *name;
    json_t *at_ms;
    json_auto_t *list = json_array();
    json_object_foreach ((json_t *)uses, name, at_ms)
        json_array_append_new(list, json_pack("[s, I]", name, json_integer_value(at_ms)));
    autofree char *text = json_dumps(list, JSON_COMPACT);
    return db_exec(db, &used_statement, DB_ARGS(db_text(text), db_text(team_id)), NULL, err);
}
