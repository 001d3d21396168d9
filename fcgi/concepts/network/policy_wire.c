/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "network/policy.h"

#define ORIGIN_MAX 128

#define ASK        "ask"

static const char *const verdict_choices[] = {"allow", "deny", NULL};
static const char *const default_choices[] = {"allow", "deny", ASK, NULL};

static const struct schema_member rule_members[] = {
    {.name = "entry", .type = SCHEMA_STRING, .required = true, .min = 1, .max = POLICY_ENTRY_MAX},
    {.name = "verdict", .type = SCHEMA_STRING, .required = true, .choices = verdict_choices},
    {.name = "origin", .type = SCHEMA_STRING, .required = true, .max = ORIGIN_MAX},
    {.name = NULL},
};
static const struct schema_member rule_item = {.type = SCHEMA_OBJECT, .members = rule_members};

const struct schema_member policy_wire_members[] = {
    {.name = "sandbox_id", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 64},
    {.name = "address", .type = SCHEMA_STRING, .required = true, .min = 7, .max = 15},
    {.name = "revision", .type = SCHEMA_INTEGER, .required = true, .min = 0, .max = INT64_MAX},
    {.name = "default", .type = SCHEMA_STRING, .required = true, .choices = default_choices},
    {.name = "rules",
     .type = SCHEMA_ARRAY,
     .required = true,
     .max = POLICY_RULES_MAX,
     .item = &rule_item},
    {.name = "egress", .type = SCHEMA_OBJECT, .members = egress_wire_members},
    {.name = EGRESS_PROXY, .type = SCHEMA_OBJECT, .members = egress_proxy_wire_members},
    {.name = NULL},
};

void policy_wire_deinit(struct policy_wire *wire)
{
    free(wire->sandbox_id);
    policy_deinit(&wire->policy);
    *wire = (struct policy_wire){0};
}

static const char *default_name(const struct policy *policy)
{
    return policy->asks ? ASK : policy_verdict_name(policy->default_verdict);
}

json_t *policy_wire_json(const struct policy_wire *wire)
{
    char address[POLICY_ADDRESS_TEXT_MAX];
    struct policy_address from = policy_address_ipv4(wire->address);
    json_t *rules = json_array();
    for (size_t i = 0; i < wire->policy.count; i++) {
        const struct policy_rule *rule = &wire->policy.rules[i];
        autofree char *entry = policy_entry_text(&rule->entry);
        json_array_append_new(rules, json_pack("{s:s, s:s, s:s}", "entry", entry, "verdict",
                                               policy_verdict_name(rule->verdict), "origin",
                                               rule->origin));
    }
    return json_pack("{s:s, s:s, s:I, s:s, s:o, s:O*, s:O*}", "sandbox_id", wire->sandbox_id,
                     "address", policy_address_text(&from, address), "revision",
                     (json_int_t)wire->revision, "default", default_name(&wire->policy), "rules",
                     rules, "egress", wire->policy.egress, EGRESS_PROXY, wire->policy.proxy);
}

static enum policy_verdict verdict_of(const json_t *json, const char *member)
{
    return str_equal(json_string_value(json_object_get(json, member)), "allow") ? POLICY_ALLOW
                                                                                : POLICY_DENY;
}

static int read_rules(const json_t *rules, struct policy *policy, struct error **err)
{
    size_t index;
    json_t *rule;
    json_array_foreach ((json_t *)rules, index, rule) {
        if (policy_add(policy, json_string_value(json_object_get(rule, "entry")),
                       verdict_of(rule, "verdict"),
                       json_string_value(json_object_get(rule, "origin")), err) < 0) {
            (*err)->field = xasprintf("/rules/%zu/entry", index);
            return -1;
        }
    }
    return 0;
}

int policy_wire_read(const json_t *json, struct policy_wire *wire, struct error **err)
{
    policy_wire_auto read = {0};
    struct policy_address address;
    *wire = (struct policy_wire){0};
    if (schema_validate(policy_wire_members, json, err) < 0)
        return -1;
    const char *text = json_string_value(json_object_get(json, "address"));
    if (policy_address_parse(text, &address) < 0 || address.family != POLICY_IPV4)
        return error_set_field(err, ERR_INVALID_REQUEST, "/address",
                               "The sandbox's address is an IPv4 address.");
    for (unsigned i = 0; i < 4; i++)
        read.address = read.address << 8 | address.bytes[i];
    read.sandbox_id = xstrdup(json_string_value(json_object_get(json, "sandbox_id")));
    read.revision = (uint64_t)json_integer_value(json_object_get(json, "revision"));
    read.policy.egress = json_incref(json_object_get(json, "egress"));
    read.policy.proxy = json_incref(json_object_get(json, EGRESS_PROXY));
    read.policy.default_verdict = verdict_of(json, "default");
    read.policy.asks = str_equal(json_string_value(json_object_get(json, "default")), ASK);
    if (read_rules(json_object_get(json, "rules"), &read.policy, err) < 0)
        return -1;
    *wire = read;
    read = (struct policy_wire){0};
    return 0;
}
