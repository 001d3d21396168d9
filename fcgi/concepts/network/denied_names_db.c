/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "network/denied_names.h"

#include <jansson.h>

#include "network/egress_proxy.h"
#include "network/policy_entry.h"

#define COLUMNS 3

DB_STATEMENT(denied_statement) = {
    "denied_names.list",
    "SELECT CAST(JSON_EXTRACT(network, '$.deny_out') AS CHAR),"
    " CAST(JSON_EXTRACT(network, '$.rules[*].host') AS CHAR),"
    " CAST(JSON_EXTRACT(network, '$." EGRESS_PROXY ".host') AS CHAR) FROM sandboxes"
    " WHERE team_id = ? AND visible = 1 AND id <> ? AND (JSON_LENGTH(network, '$.deny_out') > 0"
    " OR JSON_LENGTH(network, '$.rules') > 0 OR JSON_LENGTH(network, '$." EGRESS_PROXY "') > 0)",
    true};

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

static void collect(json_t *set, const json_t *entries)
{
    size_t index;
    json_t *text;
    collect_one(set, entries);
    json_array_foreach ((json_t *)entries, index, text)
        collect_one(set, text);
}

static void collect_rules(json_t *set, const json_t *rules)
{
    size_t index;
    json_t *rule;
    json_array_foreach ((json_t *)rules, index, rule)
        json_object_set_new(set, json_string_value(json_object_get(rule, "host")), json_null());
}

int denied_names_admit(struct db *db, const char *team_id, const char *sandbox_id,
                       const char *network, unsigned max, struct error **err)
{
    db_rows_auto *rows = NULL;
    json_auto_t *policy = json_loads(network, 0, NULL), *set = json_object();
    collect(set, json_object_get(policy, "deny_out"));
    collect_rules(set, json_object_get(policy, "rules"));
    collect(set, json_object_get(json_object_get(policy, EGRESS_PROXY), "host"));
    size_t own = json_object_size(set);
    if (!own)
        return 0;
    if (db_query(db, &denied_statement, DB_ARGS(db_text(team_id), db_text(sandbox_id)), &rows,
                 err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        for (unsigned column = 0; column < COLUMNS; column++) {
            json_auto_t *entries = json_loads(db_get_text(rows, column), JSON_DECODE_ANY, NULL);
            collect(set, entries);
        }
    }
    if (json_object_size(set) <= max)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "/deny_out",
                           "The policies of a team can deny, or have rules or proxies for, at most "
                           "%u different names in all its sandboxes. With this policy there would "
                           "be %zu, and %zu of them come from this sandbox.",
                           max, json_object_size(set), own);
}
