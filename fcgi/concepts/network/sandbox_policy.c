/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "network/sandbox_policy.h"

#include "base/mem.h"
#include "base/str.h"

struct network_class network_class_of(const char *name)
{
    bool internet = str_equal(name, "internet");
    return (struct network_class){internet, str_equal(name, "registries")};
}

size_t sandbox_policy_profiles(const json_t *stored, const char *names[EGRESS_PROFILES_MAX + 1])
{
    size_t count = 0, index;
    json_t *name;
    json_array_foreach (json_object_get(stored, "egress_profiles"), index, name) {
        if (count < EGRESS_PROFILES_MAX)
            names[count++] = json_string_value(name);
    }
    if (json_is_true(json_object_get(stored, "allow_package_registry_access")))
        names[count++] = EGRESS_PROFILE_REGISTRIES;
    return count;
}

static int add_list(struct policy *policy, const json_t *entries, enum policy_verdict verdict,
                    const char *origin, bool with_index, struct error **err)
{
    size_t index;
    json_t *entry;
    json_array_foreach ((json_t *)entries, index, entry) {
        autofree char *numbered = with_index ? xasprintf("%s/%zu", origin, index) : NULL;
        if (policy_add(policy, json_string_value(entry), verdict, numbered ? numbered : origin,
                       err) < 0)
            return error_context(err, "cannot read the stored policy, %s/%zu", origin, index);
    }
    return 0;
}

static int add_profile(struct db *db, const char *name, struct policy *policy, struct error **err)
{
    json_auto_t *entries = NULL;
    autofree char *origin = xasprintf("egress_profiles/%s", name);
    if (egress_profile_entries(db, name, &entries, err) < 0)
        return -1;
    return add_list(policy, entries, POLICY_ALLOW, origin, false, err);
}

static int compile(struct db *db, const json_t *stored, struct policy *policy, struct error **err)
{
    const char *names[EGRESS_PROFILES_MAX + 1];
    if (json_is_true(json_object_get(stored, "allow_internet_access")))
        policy->default_verdict = POLICY_ALLOW;
    policy->asks = json_is_true(json_object_get(stored, SANDBOX_POLICY_ASK));
    if (add_list(policy, json_object_get(stored, "allow_out"), POLICY_ALLOW, "/allow_out", true,
                 err) < 0 ||
        add_list(policy, json_object_get(stored, "deny_out"), POLICY_DENY, "/deny_out", true, err) <
            0)
        return -1;
    size_t count = sandbox_policy_profiles(stored, names);
    for (size_t i = 0; i < count; i++)
        if (add_profile(db, names[i], policy, err) < 0)
            return -1;
    return 0;
}

int sandbox_policy_compile(struct db *db, const char *text, struct policy *policy,
                           struct error **err)
{
    json_auto_t *stored = json_loads(text, 0, NULL);
    *policy = (struct policy){0};
    if (!stored)
        return error_set(err, ERR_INTERNAL, "a stored network policy is not JSON");
    if (compile(db, stored, policy, err) == 0)
        return 0;
    policy_deinit(policy);
    return error_recode(err, (*err)->code == ERR_INVALID_REQUEST ? ERR_INTERNAL : (*err)->code);
}
