/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "network/policy.h"

/* "+entry" allows, "-entry" denies; the origin is the number. */
static struct policy policy_of(enum policy_verdict by_default, const char *const rules[])
{
    struct policy policy = {.default_verdict = by_default};
    error_auto err = NULL;
    for (size_t i = 0; rules[i]; i++) {
        autofree char *origin = xasprintf("%zu", i);
        assert_ok(policy_add(&policy, rules[i] + 1, rules[i][0] == '+' ? POLICY_ALLOW : POLICY_DENY,
                             origin, &err));
    }
    return policy;
}
#define POLICY_OF(by_default, ...) policy_of(by_default, (const char *const[]){__VA_ARGS__, NULL})

/* "allow by 3", "deny by default". */
static void assert_decision(struct policy_decision decision, const char *expected)
{
    autofree char *text = xasprintf("%s by %s", policy_verdict_name(decision.verdict),
                                    decision.rule ? decision.rule->origin : "default");
    assert_string_equal(text, expected);
}

#define assert_name(policy, name, port, expected) \
    assert_decision(policy_decide_name(&(policy), name, port), expected)

static void assert_address_(const struct policy *policy, const char *text, uint16_t port,
                            const char *expected)
{
    struct policy_address address;
    assert_int_equal(policy_address_parse(text, &address), 0);
    assert_decision(policy_decide_address(policy, &address, port), expected);
}
#define assert_address(policy, text, port, expected) \
    assert_address_(&(policy), text, port, expected)

TEST(the_default_decides_what_nothing_matches)
{
    policy_auto open = {.default_verdict = POLICY_ALLOW}, closed = {0};
    assert_name(open, "example.com", 443, "allow by default");
    assert_name(closed, "example.com", 443, "deny by default");
    assert_address(closed, "192.0.2.1", 443, "deny by default");
    assert_address(open, "2001:db8::1", 443, "allow by default");
}

TEST(the_most_specific_name_decides)
{
    policy_auto policy = POLICY_OF(POLICY_DENY, "+*.example.com", "-*.b.example.com",
                                   "+a.b.example.com:443", "-a.b.example.com");
    assert_name(policy, "x.example.com", 80, "allow by 0");
    assert_name(policy, "x.b.example.com", 80, "deny by 1");
    assert_name(policy, "a.b.example.com", 443, "allow by 2");
    assert_name(policy, "a.b.example.com", 80, "deny by 3");
    assert_name(policy, "example.com", 80, "deny by default");
}

TEST(the_most_specific_network_decides)
{
    policy_auto policy = POLICY_OF(POLICY_ALLOW, "+203.0.113.0/24", "-203.0.113.7", "-0.0.0.0/0",
                                   "+203.0.113.7:443", "-::/0");
    assert_address(policy, "203.0.113.8", 80, "allow by 0");
    assert_address(policy, "203.0.113.7", 80, "deny by 1");
    assert_address(policy, "198.51.100.1", 80, "deny by 2");
    assert_address(policy, "203.0.113.7", 443, "allow by 3");
    assert_address(policy, "2001:db8::1", 443, "deny by 4");
}

TEST(a_tie_denies)
{
    policy_auto policy = POLICY_OF(POLICY_ALLOW, "+a.test", "-a.test", "-b.test", "+b.test",
                                   "+203.0.113.0/24:80", "-203.0.113.0/24:80");
    assert_name(policy, "a.test", 1, "deny by 1");
    assert_name(policy, "b.test", 1, "deny by 2");
    assert_address(policy, "203.0.113.1", 80, "deny by 5");
    assert_address(policy, "203.0.113.1", 81, "allow by default");
}

static char *name_text(const struct policy *policy, const char *name)
{
    struct policy_name found;
    policy_name_find(policy, name, &found);
    char *text = xasprintf("%s %s %s", found.listed ? "listed" : "unlisted",
                           found.resolves ? "resolves" : "refused",
                           policy_verdict_name(found.any_port.verdict));
    for (size_t i = 0; i < found.port_count; i++) {
        autofree char *before = text;
        text = xasprintf("%s %u=%s", before, found.ports[i].port,
                         policy_verdict_name(found.ports[i].verdict));
    }
    policy_name_deinit(&found);
    return text;
}

static void assert_found(const struct policy *policy, const char *name, const char *expected)
{
    autofree char *text = name_text(policy, name);
    assert_string_equal(text, expected);
}

TEST(names_resolve_when_a_port_is_allowed)
{
    policy_auto closed = POLICY_OF(POLICY_DENY, "+a.test:443", "+a.test:80", "-a.test:8080",
                                   "+*.b.test", "-x.b.test:443", "-y.b.test", "-z.test:1");
    assert_found(&closed, "a.test", "listed resolves deny 80=allow 443=allow");
    assert_found(&closed, "x.b.test", "listed resolves allow 443=deny");
    assert_found(&closed, "y.b.test", "listed refused deny");
    assert_found(&closed, "z.test", "listed refused deny");
    assert_found(&closed, "c.test", "unlisted refused deny");
    policy_auto open = POLICY_OF(POLICY_ALLOW, "-a.test", "-b.test:443", "+a.test:443");
    assert_found(&open, "a.test", "listed resolves deny 443=allow");
    assert_found(&open, "b.test", "listed resolves allow 443=deny");
    assert_found(&open, "c.test", "unlisted resolves allow");
}

static char *ranges_text(const struct policy *policy, enum policy_family family)
{
    struct policy_range *ranges;
    size_t count;
    char *text = xstrdup("");
    policy_ranges(policy, family, &ranges, &count);
    for (size_t i = 0; i < count; i++) {
        char first[POLICY_ADDRESS_TEXT_MAX], last[POLICY_ADDRESS_TEXT_MAX];
        autofree char *before = text;
        text = xasprintf("%s%s-%s %s", before, policy_address_text(&ranges[i].first, first),
                         policy_address_text(&ranges[i].last, last),
                         policy_verdict_name(ranges[i].verdict));
        for (size_t j = 0; j < ranges[i].port_count; j++) {
            autofree char *head = text;
            text = xasprintf("%s %u=%s", head, ranges[i].ports[j].port,
                             policy_verdict_name(ranges[i].ports[j].verdict));
        }
        autofree char *line = text;
        text = xasprintf("%s\n", line);
    }
    policy_ranges_free(ranges, count);
    return text;
}

TEST(networks_become_intervals)
{
    policy_auto policy = POLICY_OF(POLICY_ALLOW, "-203.0.113.0/24", "+203.0.113.7:443",
                                   "+203.0.113.128/25", "-198.51.100.0/25", "-198.51.100.128/25",
                                   "-255.255.255.255", "-0.0.0.0/32:53", "-2001:db8::/32");
    autofree char *ipv4 = ranges_text(&policy, POLICY_IPV4);
    assert_string_equal(ipv4, "0.0.0.0-0.0.0.0 allow 53=deny\n"
                              "198.51.100.0-198.51.100.255 deny\n"
                              "203.0.113.0-203.0.113.6 deny\n"
                              "203.0.113.7-203.0.113.7 deny 443=allow\n"
                              "203.0.113.8-203.0.113.127 deny\n"
                              "255.255.255.255-255.255.255.255 deny\n");
    autofree char *ipv6 = ranges_text(&policy, POLICY_IPV6);
    assert_string_equal(ipv6, "2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff deny\n");
}

TEST(everything_is_one_interval)
{
    policy_auto policy =
        POLICY_OF(POLICY_ALLOW, "-0.0.0.0/0", "-128.0.0.0/1", "-::/0", "+[ffff::/16]:443");
    autofree char *ipv4 = ranges_text(&policy, POLICY_IPV4);
    assert_string_equal(ipv4, "0.0.0.0-255.255.255.255 deny\n");
    autofree char *ipv6 = ranges_text(&policy, POLICY_IPV6);
    assert_string_equal(ipv6, "::-fffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff deny\n"
                              "ffff::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff deny 443=allow\n");
}

TEST(survives_the_wire)
{
    struct error *err = NULL;
    policy_wire_auto sent = {.sandbox_id = xstrdup("sbx_1"),
                             .address = 0x0a580007,
                             .revision = 7,
                             .policy = POLICY_OF(POLICY_DENY, "+api.example.com:443",
                                                 "-203.0.113.0/24", "+[2001:db8::1]:1")};
    policy_wire_auto got = {0};
    json_auto_t *json = policy_wire_json(&sent);
    assert_string_equal(json_string_value(json_object_get(json, "address")), "10.88.0.7");
    assert_ok(policy_wire_read(json, &got, &err));
    json_auto_t *again = policy_wire_json(&got);
    assert_true(json_equal(json, again));
    assert_int_equal(got.policy.count, 3);
    assert_int_equal(got.revision, 7);
    assert_int_equal(got.address, 0x0a580007);
    assert_false(got.policy.asks);
}

TEST(a_policy_that_asks_denies_by_default)
{
    struct error *err = NULL;
    policy_wire_auto sent = {
        .sandbox_id = xstrdup("sbx_1"), .address = 0x0a580007, .policy = {.asks = true}};
    policy_wire_auto got = {0};
    json_auto_t *json = policy_wire_json(&sent);
    assert_string_equal(json_string_value(json_object_get(json, "default")), "ask");
    assert_ok(policy_wire_read(json, &got, &err));
    assert_true(got.policy.asks);
    assert_int_equal(got.policy.default_verdict, POLICY_DENY);
}

TEST(refuses_other_wires)
{
    static const char *const cases[][2] = {
        {"{}", "/sandbox_id"},
        {"{'sandbox_id':'s','address':'2001:db8::1','revision':1,'default':'deny','rules':[]}",
         "/address"},
        {"{'sandbox_id':'s','address':'10.0.0','revision':1,'default':'deny','rules':[]}",
         "/address"},
        {"{'sandbox_id':'s','address':'10.0.0.1','revision':-1,'default':'deny','rules':[]}",
         "/revision"},
        {"{'sandbox_id':'s','address':'10.0.0.1','revision':1,'default':'maybe','rules':[]}",
         "/default"},
        {"{'sandbox_id':'s','address':'10.0.0.1','revision':1,'default':'deny','rules':"
         "[{'entry':'a.test','verdict':'deny','origin':''},{'entry':'-','verdict':'deny',"
         "'origin':''}]}",
         "/rules/1/entry"},
        {"{'sandbox_id':'s','address':'10.0.0.1','revision':1,'default':'deny','rules':[],'x':1}",
         "/x"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        autofree char *text = xstrdup(cases[i][0]);
        for (char *c = text; *c; c++)
            if (*c == '\'')
                *c = '"';
        struct error *err = NULL;
        struct policy_wire wire;
        json_auto_t *json = json_loads(text, 0, NULL);
        assert_non_null(json);
        assert_fails(policy_wire_read(json, &wire, &err), ERR_INVALID_REQUEST);
        assert_string_equal(err->field, cases[i][1]);
        error_clear(&err);
    }
}
