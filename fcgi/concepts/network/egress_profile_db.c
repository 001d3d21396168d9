/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "account/account.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "network/egress_profile.h"
#include "network/sandbox_policy.h"

#define NAMES_SHOWN_MAX 1000 /* bytes of names in a message */

#define COLUMNS                                                                                 \
    "p.name, p.entries, p.updated_at_ms, (SELECT COUNT(*) FROM sandbox_egress_profiles f JOIN " \
    "sandboxes s ON s.id = f.sandbox_id WHERE f.profile = p.name AND s.visible = 1)"

DB_STATEMENT(get_statement) = {"egress_profile.get",
                               "SELECT " COLUMNS " FROM egress_profiles p WHERE p.name = ?"};
DB_STATEMENT(list_statement) = {
    "egress_profile.list", "SELECT " COLUMNS " FROM egress_profiles p ORDER BY p.name LIMIT 10000"};
DB_STATEMENT(entries_statement) = {"egress_profile.entries",
                                   "SELECT entries FROM egress_profiles WHERE name = ?"};
DB_STATEMENT(names_statement) = {"egress_profile.names",
                                 "SELECT name FROM egress_profiles ORDER BY name LIMIT 1000"};
DB_STATEMENT(exists_statement) = {"egress_profile.exists",
                                  "SELECT 1 FROM egress_profiles WHERE name = ?"};
DB_STATEMENT(put_statement) = {
    "egress_profile.put",
    "INSERT INTO egress_profiles (name, entries, updated_at_ms) VALUES (?, ?, ?)"
    " ON DUPLICATE KEY UPDATE entries = VALUES(entries), updated_at_ms = VALUES(updated_at_ms)"};
DB_STATEMENT(lock_statement) = {"egress_profile.lock",
                                "SELECT 1 FROM egress_profiles WHERE name = ? FOR UPDATE"};
DB_STATEMENT(delete_statement) = {"egress_profile.delete",
                                  "DELETE FROM egress_profiles WHERE name = ?"};
/* A paused sandbox gets its policy when it is resumed. */
DB_STATEMENT(touch_statement) = {
    "egress_profile.touch",
    "UPDATE sandboxes s JOIN sandbox_egress_profiles f ON f.sandbox_id = s.id"
    " SET s.version = UUID_SHORT(), s.network_revision = s.network_revision + 1,"
    " s.network_due_at_ms = IF(s.reserved = 1, ?, s.network_due_at_ms)"
    " WHERE f.profile = ? AND s.visible = 1"};
DB_STATEMENT(forget_gone_statement) = {
    "egress_profile.forget_gone",
    "DELETE f FROM sandbox_egress_profiles f JOIN sandboxes s ON s.id = f.sandbox_id"
    " WHERE f.profile = ? AND s.visible = 0"};
DB_STATEMENT(unfollow_statement) = {"egress_profile.unfollow",
                                    "DELETE FROM sandbox_egress_profiles WHERE sandbox_id = ?"};
DB_STATEMENT(follow_statement) = {
    "egress_profile.follow",
    "INSERT INTO sandbox_egress_profiles (profile, sandbox_id) VALUES (?, ?)"
    " ON DUPLICATE KEY UPDATE profile = profile"};

void egress_profile_deinit(struct egress_profile *profile)
{
    json_decref(profile->entries);
    *profile = (struct egress_profile){0};
}

void egress_profiles_free(struct egress_profile *profiles, size_t count)
{
    for (size_t i = 0; i < count; i++)
        egress_profile_deinit(&profiles[i]);
    free(profiles);
}

static json_t *read_entries(const struct db_rows *rows, unsigned column)
{
    json_t *entries = json_loads(db_get_text(rows, column), 0, NULL);
    return entries ? entries : json_array();
}

static void read_profile(const struct db_rows *rows, struct egress_profile *profile)
{
    *profile = (struct egress_profile){0};
    db_copy_text(profile->name, rows, 0);
    profile->entries = read_entries(rows, 1);
    profile->updated_at_ms = db_get_i64(rows, 2);
    profile->sandboxes = db_get_u64(rows, 3);
}

static int not_found(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "There is no such egress profile.");
}

int egress_profile_get(struct db *db, const char *name, struct egress_profile *profile,
                       struct error **err)
{
    db_rows_auto *rows = NULL;
    if (!slug_is_valid(name))
        return not_found(err);
    if (db_query(db, &get_statement, DB_ARGS(db_text(name)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return not_found(err);
    read_profile(rows, profile);
    return 0;
}

int egress_profile_entries(struct db *db, const char *name, json_t **entries, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (!slug_is_valid(name))
        return not_found(err);
    if (db_query(db, &entries_statement, DB_ARGS(db_text(name)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return not_found(err);
    *entries = read_entries(rows, 0);
    return 0;
}

int egress_profile_list(struct db *db, struct egress_profile **profiles, size_t *count,
                        struct error **err)
{
    return DB_LIST(db, &list_statement, DB_NO_ARGS, read_profile, profiles, count, err);
}

/* --- changing --- */

struct put {
    const char *name;
    const char *entries;
    uint64_t sandboxes;
};

static int put_body(struct db *db, void *context, struct error **err)
{
    struct put *put = context;
    int64_t now_ms = clock_now_ms();
    if (db_exec(db, &put_statement,
                DB_ARGS(db_text(put->name), db_text(put->entries), db_i64(now_ms)), NULL, err) < 0)
        return -1;
    return db_exec(db, &touch_statement, DB_ARGS(db_i64(now_ms), db_text(put->name)),
                   &put->sandboxes, err);
}

/* Return the entries in their canonical form. */
static int check_entries(const json_t *entries, json_t **canonical, struct error **err)
{
    size_t index;
    json_t *value;
    if (json_array_size(entries) > EGRESS_PROFILE_ENTRIES_MAX)
        return error_set(err, ERR_INVALID_REQUEST, "An egress profile has at most %d entries.",
                         EGRESS_PROFILE_ENTRIES_MAX);
    json_auto_t *list = json_array();
    json_array_foreach ((json_t *)entries, index, value) {
        struct policy_entry entry;
        const char *text = json_string_value(value);
        if (policy_entry_parse(text ? text : "", &entry, err) < 0)
            return error_context(err, "%s", text ? text : "(no text)");
        autofree char *written = policy_entry_text(&entry);
        json_array_append_new(list, json_string(written));
        policy_entry_deinit(&entry);
    }
    *canonical = json_incref(list);
    return 0;
}

int egress_profile_put(struct db *db, const char *name, const json_t *entries, uint64_t *sandboxes,
                       struct error **err)
{
    json_t *canonical = NULL;
    if (!slug_is_valid(name))
        return error_set(err, ERR_INVALID_REQUEST,
                         "An egress profile's name is 1 to 63 lower-case letters, digits and "
                         "hyphens, with no hyphen at either end.");
    if (check_entries(entries, &canonical, err) < 0)
        return -1;
    autofree char *text = json_dumps(canonical, JSON_COMPACT);
    json_decref(canonical);
    struct put put = {name, text, 0};
    int result = db_transaction(db, put_body, &put, err);
    *sandboxes = put.sandboxes;
    return result;
}

static int delete_body(struct db *db, void *context, struct error **err)
{
    const char *name = context;
    struct egress_profile profile;
    {
        db_rows_auto *rows = NULL;
        if (db_query(db, &lock_statement, DB_ARGS(db_text(name)), &rows, err) < 0)
            return -1;
    }
    if (egress_profile_get(db, name, &profile, err) < 0)
        return -1;
    unsigned long long users = profile.sandboxes;
    egress_profile_deinit(&profile);
    if (users)
        return error_set(err, ERR_INVALID_REQUEST,
                         "%llu sandboxes include the profile %s. Delete them or change their "
                         "policies first, or change the profile's entries instead.",
                         users, name);
    if (db_exec(db, &forget_gone_statement, DB_ARGS(db_text(name)), NULL, err) < 0)
        return -1;
    return db_exec(db, &delete_statement, DB_ARGS(db_text(name)), NULL, err);
}

int egress_profile_delete(struct db *db, const char *name, struct error **err)
{
    if (!slug_is_valid(name))
        return not_found(err);
    if (str_equal(name, EGRESS_PROFILE_REGISTRIES))
        return error_set(err, ERR_INVALID_REQUEST,
                         "The profile %s cannot be deleted, because allow_package_registry_access "
                         "uses it; remove its entries instead.",
                         name);
    return db_transaction(db, delete_body, (void *)(uintptr_t)name, err);
}

/* --- including --- */

static int refuse_unknown(struct db *db, const char *name, const char *field, struct error **err)
{
    buffer_auto names = BUFFER_INIT(NAMES_SHOWN_MAX);
    db_rows_auto *rows = NULL;
    if (db_query(db, &names_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    while (db_rows_next(rows))
        buffer_printf(&names, "%s%s", names.size ? ", " : "", db_get_text(rows, 0));
    return error_set_field(err, ERR_INVALID_REQUEST, field,
                           "There is no egress profile %.63s. The profiles are: %s.", name,
                           buffer_string(&names));
}

int egress_profile_require(struct db *db, const char *name, const char *field, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (!slug_is_valid(name))
        return refuse_unknown(db, "of such a name", field, err);
    if (db_query(db, &exists_statement, DB_ARGS(db_text(name)), &rows, err) < 0)
        return -1;
    return db_rows_next(rows) ? 0 : refuse_unknown(db, name, field, err);
}

int egress_profile_follow(struct db *db, const char *sandbox_id, const char *network,
                          bool is_new_sandbox, struct error **err)
{
    const char *names[EGRESS_PROFILES_MAX + 1];
    json_auto_t *stored = json_loads(network, 0, NULL);
    size_t count = sandbox_policy_profiles(stored, names);
    if (!is_new_sandbox &&
        db_exec(db, &unfollow_statement, DB_ARGS(db_text(sandbox_id)), NULL, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (db_exec(db, &follow_statement, DB_ARGS(db_text(names[i]), db_text(sandbox_id)), NULL,
                    err) < 0)
            return -1;
    return 0;
}
