/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "firewall/approval_entries.h"
#include "firewall/denials.h"
#include "firewall/rules.h"

#define SANDBOX 0x0a5c0007u

static void add(struct policy *policy, const char *entry, enum policy_verdict verdict)
{
    error_auto err = NULL;
    assert_ok(policy_add(policy, entry, verdict, "", &err));
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

static char *text_of(const struct policy *policy)
{
    rules_auto rules = {0};
    rules_init(&rules, "test");
    rules_sandbox(&rules, SANDBOX, policy);
    return json_dumps(rules.commands, JSON_COMPACT);
}

TEST(a_short_policy_becomes_rules)
{
    policy_auto policy = {.default_verdict = POLICY_DENY};
    add(&policy, "203.0.113.0/24:443", POLICY_ALLOW);
    add(&policy, "198.51.100.7", POLICY_ALLOW);
    autofree char *text = text_of(&policy);
    assert_int_equal(count_of(text, "\"vmap\""), 0);
    assert_int_equal(count_of(text, "\"sb_0a5c0007\""), 7); /* add, flush, mark, two, end, map */
    assert_non_null(strstr(text, "[\"203.0.113.0\",\"203.0.113.255\"]"));
    assert_int_equal(count_of(text, "\"right\":443"), 1);
    assert_int_equal(count_of(text, "\"198.51.100.7\""), 2); /* its echoes, too */
    assert_int_equal(count_of(text, "by_name"), 0);
}

TEST(a_long_policy_becomes_one_set_without_overlaps)
{
    policy_auto policy = {.default_verdict = POLICY_DENY};
    add(&policy, "203.0.113.0/24", POLICY_ALLOW);
    add(&policy, "203.0.113.0/24:22", POLICY_DENY);
    for (unsigned i = 0; i < 40; i++) {
        autofree char *entry = xasprintf("198.51.100.%u:%u", i * 2, 1000 + i);
        add(&policy, entry, POLICY_ALLOW);
    }
    autofree char *text = text_of(&policy);
    assert_int_equal(count_of(text, "\"vmap\""), 1);
    assert_non_null(strstr(text, "{\"range\":[0,21]}"));
    assert_non_null(strstr(text, "{\"range\":[23,65535]}"));
    assert_int_equal(count_of(text, "\"concat\":["), 1 + 3 + 40 + 1); /* the link */
}

TEST(names_are_looked_at_where_there_are_some)
{
    policy_auto policy = {.default_verdict = POLICY_DENY};
    add(&policy, "api.example.com", POLICY_ALLOW);
    autofree char *text = text_of(&policy);
    assert_int_equal(count_of(text, "\"by_name\""), 1);
    assert_int_equal(count_of(text, "\"echo_by_name\""), 1);
    /* Nothing is taken away but what closed the address to this host, and the ways to proxies. */
    assert_int_equal(count_of(text, "{\"delete\""), 3);
    assert_int_equal(count_of(text, "{\"delete\":{\"element\":{\"name\":\"gone\""), 1);
    assert_int_equal(count_of(text, "{\"delete\":{\"element\":{\"name\":\"proxied\""), 1);
    assert_int_equal(count_of(text, "{\"delete\":{\"element\":{\"name\":\"outlets\""), 1);
}

TEST(egress_rules_open_the_proxy)
{
    policy_auto policy = {.default_verdict = POLICY_DENY, .egress = json_object()};
    autofree char *text = text_of(&policy);
    assert_int_equal(count_of(text, "{\"add\":{\"element\":{\"name\":\"proxied\""), 1);
    assert_int_equal(count_of(text, "{\"delete\":{\"element\":{\"name\":\"proxied\""), 0);
}

TEST(an_egress_proxy_takes_all)
{
    policy_auto policy = {.default_verdict = POLICY_ALLOW};
    autofree char *without = text_of(&policy);
    policy.proxy = json_object();
    autofree char *with = text_of(&policy);
    assert_int_equal(count_of(without, "\"outlets\""), 2); /* added, to be deleted */
    assert_int_equal(count_of(with, "\"outlets\""), 1);
}

TEST(elements_are_taken_out_whether_they_are_there_or_not)
{
    rules_auto rules = {0};
    struct name_element old = {0xcb007107, 443, POLICY_ALLOW, 5000};
    struct name_element fresh = {0xcb007107, 443, POLICY_ALLOW, 9001};
    rules_init(&rules, "test");
    rules_names(&rules, SANDBOX, &old, 1, &fresh, 1, 1000);
    assert_int_equal(json_array_size(rules.commands), 3);
    static const char *const verbs[] = {"add", "delete", "add"};
    for (size_t i = 0; i < 3; i++) {
        json_t *element = json_object_get(
            json_object_get(json_array_get(rules.commands, i), verbs[i]), "element");
        assert_string_equal(json_string_value(json_object_get(element, "name")), "named_port");
    }
    autofree char *text = json_dumps(rules.commands, JSON_COMPACT);
    assert_int_equal(count_of(text, "\"timeout\":9"), 1);
}

TEST(only_chains_of_sandboxes_of_the_table_are_dropped)
{
    rules_auto rules = {0};
    json_auto_t *listed =
        json_pack("[{s:{}}, {s:{s:s, s:s}}, {s:{s:s, s:s}}, {s:{s:s, s:s}}]", "metainfo", "chain",
                  "table", "test", "name", "sb_0a5c0001", "chain", "table", "other", "name",
                  "sb_0a5c0002", "chain", "table", "test", "name", "from_sandbox");
    rules_init(&rules, "test");
    rules_drop_chains(&rules, listed);
    autofree char *text = json_dumps(rules.commands, JSON_COMPACT);
    assert_int_equal(json_array_size(rules.commands), 2);
    assert_int_equal(count_of(text, "sb_0a5c0001"), 2);
}

TEST(connections_past_the_limit_are_one_denial_a_protocol)
{
    struct denials denials = {0};
    denials_add(&denials, DENIAL_CONNECTION, "203.0.113.7", 443, "tcp", 1);
    for (int i = 0; i < 2 * DENIALS_MAX; i++)
        denials_add(&denials, DENIAL_LIMIT, "198.51.100.9", (uint16_t)(i + 1), "udp", 2 + i);
    json_auto_t *list = denials_json(&denials);
    assert_int_equal(json_array_size(list), 2);
    const json_t *newest = json_array_get(list, 0);
    assert_string_equal(json_string_value(json_object_get(newest, "kind")), "limit");
    assert_int_equal(json_integer_value(json_object_get(newest, "port")), 2 * DENIALS_MAX);
    assert_int_equal(json_integer_value(json_object_get(newest, "count")), 2 * DENIALS_MAX);
}

TEST(denials_are_counted_and_bounded)
{
    struct denials denials = {0};
    for (int64_t i = 0; i < DENIALS_MAX + 10; i++) {
        autofree char *name = xasprintf("n%d.example", (int)i);
        denials_add(&denials, DENIAL_NAME, name, 0, NULL, i);
    }
    denials_add(&denials, DENIAL_CONNECTION, "203.0.113.7", 443, "tcp", 500);
    denials_add(&denials, DENIAL_CONNECTION, "203.0.113.7", 443, "tcp", 501);
    json_auto_t *list = denials_json(&denials);
    assert_int_equal(json_array_size(list), DENIALS_MAX);
    json_t *newest = json_array_get(list, 0);
    assert_string_equal(json_string_value(json_object_get(newest, "target")), "203.0.113.7");
    assert_int_equal(json_integer_value(json_object_get(newest, "count")), 2);
    assert_true(json_is_null(json_object_get(json_array_get(list, 1), "protocol")));
}

TEST(asks_are_few_and_recent)
{
    struct approval_entries asks = {0};
    assert_null(approval_entries_json(&asks, 10, 1));
    for (int i = 0; i < 3 * APPROVAL_ENTRIES_MAX; i++) {
        autofree char *entry = xasprintf("n%d.example.com", i);
        approval_entries_add(&asks, entry, i);
        approval_entries_add(&asks, "often.example.com", i);
    }
    json_auto_t *all = approval_entries_json(&asks, 100, 3 * APPROVAL_ENTRIES_MAX),
                *few = approval_entries_json(&asks, 3, 1);
    autofree char *text = json_dumps(all, JSON_COMPACT);
    assert_int_equal(json_array_size(all), APPROVAL_ENTRIES_MAX);
    assert_int_equal(json_array_size(few), 3);
    assert_int_equal(count_of(text, "often.example.com"), 1);
    assert_int_equal(count_of(text, "\"n0."), 0);
    assert_null(
        approval_entries_json(&asks, 100, 3 * APPROVAL_ENTRIES_MAX + APPROVAL_ENTRIES_RECENT_MS));
    approval_entries_deinit(&asks);
}
