/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "network/denied_names.h"

#include <jansson.h>

#include "base/mem.h"
#include "network/egress_proxy.h"
#include "network/policy_entry.h"

DB_STATEMENT(lock_statement) = {"denied_names.lock", "SELECT 1 FROM teams WHERE id = ? FOR UPDATE"};
DB_STATEMENT(forget_statement) = {"denied_names.forget",
                                  "DELETE FROM sandbox_denied_names WHERE sandbox_id = ?"};
/* The two tables get the names of one JSON array. */
#define NAMES_OF \
    " FROM JSON_TABLE(?, '$[*]' COLUMNS (name VARCHAR(255) CHARACTER SET ascii PATH '$')) j"
DB_STATEMENT(insert_statement) = {
    "denied_names.insert",
    "INSERT INTO sandbox_denied_names (sandbox_id, team_id, name) SELECT ?, ?, j.name" NAMES_OF};
DB_STATEMENT(add_statement) = {"denied_names.add",
                               "INSERT INTO denied_names (team_id, name) SELECT ?, j.name" NAMES_OF
                               " ON DUPLICATE KEY UPDATE denied_names.name = denied_names.name"};
DB_STATEMENT(count_statement) = {"denied_names.count",
                                 "SELECT COUNT(*) FROM denied_names WHERE team_id = ?"};
/* One look into an index for each name of the team, for however many sandboxes deny it. */
DB_STATEMENT(purge_statement) = {
    "denied_names.purge",
    "DELETE FROM denied_names WHERE team_id = ? AND NOT EXISTS"
    " (SELECT 1 FROM sandbox_denied_names s FORCE INDEX (sandbox_denied_names_team)"
    " WHERE s.team_id = denied_names.team_id AND s.name = denied_names.name)"};

/* Put a host name into a set, the keys of an object. Wildcards and networks are left out, because
 * firewalls do not watch them. */
static void collect_one(json_t *set, const json_t *text)
{
    struct policy_entry entry = {0};
    error_auto ignored = NULL; /* stored entries were checked before */
    if (!json_is_string(text) || policy_entry_parse(json_string_value(text), &entry, &ignored) < 0)
        return;
    if (entry.kind == POLICY_HOST)
        json_object_set_new(set, entry.name, json_null());
    policy_entry_deinit(&entry);
}

/* Collect the names of a policy. Returns one of the inputs that they come from. */
static const char *collect(json_t *set, const json_t *policy)
{
    size_t index;
    json_t *item;
    const char *field = "/" EGRESS_PROXY;
    collect_one(set, json_object_get(json_object_get(policy, EGRESS_PROXY), "host"));
    json_array_foreach (json_object_get(policy, "rules"), index, item) {
        json_object_set_new(set, json_string_value(json_object_get(item, "host")), json_null());
        field = "/rules";
    }
    size_t others = json_object_size(set);
    json_array_foreach (json_object_get(policy, "deny_out"), index, item)
        collect_one(set, item);
    return json_object_size(set) > others ? "/deny_out" : field;
}

static char *text_of(const json_t *set)
{
    const char *name;
    json_t *ignored;
    json_auto_t *names = json_array();
    json_object_foreach ((json_t *)set, name, ignored)
        json_array_append_new(names, json_string(name));
    return json_dumps(names, JSON_COMPACT);
}

static int count(struct db *db, const char *team_id, uint64_t *names, struct error **err)
{
    return DB_NUMBER(db, &count_statement, DB_ARGS(db_text(team_id)), names, err);
}

/* Count the team's names after those of the set were added. */
static int add_to_team(struct db *db, const char *team_id, const char *text, unsigned max,
                       uint64_t *names, struct error **err)
{
    if (db_exec(db, &add_statement, DB_ARGS(db_text(team_id), db_text(text)), NULL, err) < 0 ||
        count(db, team_id, names, err) < 0)
        return -1;
    if (*names <= max)
        return 0;
    return db_exec(db, &purge_statement, DB_ARGS(db_text(team_id)), NULL, err) < 0
               ? -1
               : count(db, team_id, names, err);
}

int denied_names_follow(struct db *db, const char *team_id, const char *sandbox_id,
                        const char *network, bool is_new_sandbox, unsigned max, struct error **err)
{
    uint64_t names;
    json_auto_t *policy = json_loads(network, 0, NULL), *set = json_object();
    const char *field = collect(set, policy);
    size_t own = json_object_size(set);
    if (!is_new_sandbox && denied_names_forget(db, sandbox_id, err) < 0)
        return -1;
    if (!own)
        return 0;
    autofree char *text = text_of(set);
    db_rows_auto *locked = NULL;
    /* The lock comes first: the purge of another transaction reads the rows that are inserted. */
    if (db_query(db, &lock_statement, DB_ARGS(db_text(team_id)), &locked, err) < 0 ||
        db_exec(db, &insert_statement,
                DB_ARGS(db_text(sandbox_id), db_text(team_id), db_text(text)), NULL, err) < 0 ||
        add_to_team(db, team_id, text, max, &names, err) < 0)
        return -1;
    if (names <= max)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, field,
                           "The policies of a team can deny, or have rules or proxies for, at most "
                           "%u different names in all its sandboxes. With this policy there would "
                           "be %llu, and %zu of them come from this sandbox.",
                           max, (unsigned long long)names, own);
}

int denied_names_forget(struct db *db, const char *sandbox_id, struct error **err)
{
    return db_exec(db, &forget_statement, DB_ARGS(db_text(sandbox_id)), NULL, err);
}
