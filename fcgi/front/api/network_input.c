/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/network_input.h"

#include "base/mem.h"
#include "secret/egress_secrets.h"
#include "secret/team_proxy.h"

const struct schema_member network_entry_item = {
    .type = SCHEMA_STRING, .min = 1, .max = POLICY_ENTRY_MAX};
const struct schema_member network_profile_item = {
    .type = SCHEMA_STRING, .min = 1, .max = EGRESS_PROFILE_NAME_MAX};

const struct schema_member network_put_schema[] = {
    NETWORK_MEMBERS, {.name = "allow_public_traffic", .type = SCHEMA_BOOLEAN}, {.name = NULL}};

const struct schema_member network_check_schema[] = {
    {.name = "host", .type = SCHEMA_STRING, .required = true, .min = 1, .max = POLICY_HOST_MAX + 1},
    {.name = "port", .type = SCHEMA_INTEGER, .required = true, .min = 1, .max = 65535},
    {.name = "policy", .type = SCHEMA_OBJECT, .members = network_put_schema},
    {.name = NULL},
};

static int check_entries(const json_t *body, const char *member, struct error **err)
{
    size_t index;
    json_t *value;
    json_array_foreach (json_object_get(body, member), index, value) {
        struct policy_entry entry;
        if (policy_entry_parse(json_string_value(value), &entry, err) < 0) {
            (*err)->field = xasprintf("/%s/%zu", member, index);
            return -1;
        }
        policy_entry_deinit(&entry);
    }
    return 0;
}

/* Check that a profile exists, and add it once, in the order of the request. */
static int add_profile(struct db *db, const json_t *name, const char *field, json_t *profiles,
                       struct error **err)
{
    size_t index;
    json_t *known;
    if (egress_profile_require(db, json_string_value(name), field, err) < 0)
        return -1;
    json_array_foreach (profiles, index, known) {
        if (json_equal(known, name))
            return 0;
    }
    if (json_array_size(profiles) == EGRESS_PROFILES_MAX)
        return error_set_field(err, ERR_INVALID_REQUEST, field,
                               "A policy can include at most %d egress profiles.",
                               EGRESS_PROFILES_MAX);
    json_array_append(profiles, (json_t *)(uintptr_t)name);
    return 0;
}

static int read_profiles(struct db *db, const json_t *body, json_t *profiles, struct error **err)
{
    const json_t *one = json_object_get(body, "egress_profile");
    size_t index;
    json_t *name;
    if (one && add_profile(db, one, "/egress_profile", profiles, err) < 0)
        return -1;
    json_array_foreach (json_object_get(body, "egress_profiles"), index, name) {
        autofree char *field = xasprintf("/egress_profiles/%zu", index);
        if (add_profile(db, name, field, profiles, err) < 0)
            return -1;
    }
    return 0;
}

static json_t *list_or_empty(const json_t *body, const char *member)
{
    json_t *list = json_object_get(body, member);
    return list ? json_incref(list) : json_array();
}

static bool flag(const json_t *body, const char *member, bool by_default)
{
    const json_t *value = json_object_get(body, member);
    return value ? json_is_true(value) : by_default;
}

/* The team whose secrets the rules may mention: of the new sandbox, or of the one that is there. */
static const char *team_of(const struct api *api)
{
    return api->access.team ? api->access.team->id : api->access.sandbox.team_id;
}

/* Add the way out: that of the request, or else of the team. A null in the request means none. */
static int add_proxy(struct api *api, const json_t *body, json_t *policy, struct error **err)
{
    json_auto_t *proxy = json_incref(json_object_get(body, EGRESS_PROXY));
    if (!proxy && team_proxy_get(api->worker.db, team_of(api), &proxy, err) < 0)
        return -1;
    if (json_is_object(proxy))
        json_object_set(policy, EGRESS_PROXY, proxy);
    return 0;
}

int network_input_read(struct api *api, const json_t *body, const struct proxy_password *password,
                       char **network, struct error **err)
{
    struct network_class class = network_class_of(api->settings->default_network_class);
    bool asks = flag(body, SANDBOX_POLICY_ASK, false);
    bool internet = flag(body, "allow_internet_access", class.internet && !asks);
    json_auto_t *profiles = json_array();
    if (check_entries(body, "allow_out", err) < 0 || check_entries(body, "deny_out", err) < 0 ||
        read_profiles(api->worker.db, body, profiles, err) < 0)
        return -1;
    if (asks && internet)
        return error_set_field(err, ERR_INVALID_REQUEST, "/" SANDBOX_POLICY_ASK,
                               "A sandbox with allow_internet_access needs no approvals: set one "
                               "of the two to false.");
    json_auto_t *policy = json_pack("{s:b, s:b, s:o, s:o, s:O}", "allow_internet_access", internet,
                                    "allow_package_registry_access",
                                    flag(body, "allow_package_registry_access", class.registries),
                                    "allow_out", list_or_empty(body, "allow_out"), "deny_out",
                                    list_or_empty(body, "deny_out"), "egress_profiles", profiles);
    json_t *rules = json_object_get(body, "rules");
    if (json_array_size(rules))
        json_object_set(policy, "rules", rules);
    if (add_proxy(api, body, policy, err) < 0)
        return -1;
    if (asks)
        json_object_set_new(policy, SANDBOX_POLICY_ASK, json_true());
    if (password && password->value && proxy_password_store(api, team_of(api), password, err) < 0)
        return -1;
    if (egress_rules_admit(api->worker.db, team_of(api), policy, err) < 0)
        return -1;
    *network = json_dumps(policy, JSON_COMPACT);
    return 0;
}
