/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random policies against a plain evaluator that shares no code with the product: it goes down the
 * order of specificity step by step, over rules kept as numbers. SANDLOT_TEST_SEED repeats a run.
 */
#include "unit/unit.h"

#include <time.h>

#include "base/mem.h"
#include "network/policy.h"

#define POLICIES  1500
#define RULES_MAX 24
#define PROBES    60

static uint64_t random_state;

/* xorshift64* */
static uint64_t next_random(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1d;
}

static unsigned below(unsigned bound)
{
    return (unsigned)(next_random() % bound);
}

struct plain_rule {
    bool is_wildcard;
    const char *name; /* NULL: a network */
    uint32_t network; /* IPv4; of IPv6 the last 32 bits, behind 2001:db8:: */
    unsigned bits;    /* of those 32 */
    bool is_ipv6;
    unsigned port;
    bool allow;
};

struct plain {
    bool allow_by_default;
    struct plain_rule rules[RULES_MAX];
    unsigned count;
};

static const char *const names[] = {"test",       "a.test",     "b.test",       "a.b.test",
                                    "c.a.b.test", "xa.test",    "d.c.a.b.test", "example.com",
                                    "b.a.test",   "a.a.a.test", "test.test"};
static const unsigned ports[] = {0, 0, 80, 443, 65535};

/* Few values in few places, so that networks nest and touch; both ends of the space among them. */
static uint32_t random_address(void)
{
    static const uint32_t corners[] = {0, 0xffffff00, 0xcb007100, 0x7fffff00, 0x80000000};
    return below(8) ? corners[below(ARRAY_SIZE(corners))] + below(256) : (uint32_t)next_random();
}

static uint32_t mask(unsigned bits)
{
    return bits ? UINT32_MAX << (32 - bits) : 0;
}

static void random_plain(struct plain *plain)
{
    *plain = (struct plain){.allow_by_default = below(2), .count = below(RULES_MAX + 1)};
    for (unsigned i = 0; i < plain->count; i++) {
        struct plain_rule *rule = &plain->rules[i];
        rule->allow = below(2);
        rule->port = ports[below(ARRAY_SIZE(ports))];
        if (!below(3)) {
            rule->name = names[below(ARRAY_SIZE(names))];
            rule->is_wildcard = below(2);
            continue;
        }
        rule->is_ipv6 = !below(3);
        rule->bits = below(2) ? 24 + below(9) : below(33);
        rule->network = random_address() & mask(rule->bits);
    }
}

static char *rule_text(const struct plain_rule *rule)
{
    char port[16] = "";
    if (rule->port)
        snprintf(port, sizeof port, ":%u", rule->port);
    if (rule->name)
        return xasprintf("%s%s%s", rule->is_wildcard ? "*." : "", rule->name, port);
    if (rule->is_ipv6)
        return xasprintf("[2001:db8::%x:%x/%u]%s", rule->network >> 16, rule->network & 0xffff,
                         96 + rule->bits, port);
    return xasprintf("%u.%u.%u.%u/%u%s", rule->network >> 24, rule->network >> 16 & 255,
                     rule->network >> 8 & 255, rule->network & 255, rule->bits, port);
}

static struct policy compile(const struct plain *plain)
{
    error_auto err = NULL;
    struct policy policy = {.default_verdict =
                                plain->allow_by_default ? POLICY_ALLOW : POLICY_DENY};
    for (unsigned i = 0; i < plain->count; i++) {
        autofree char *text = rule_text(&plain->rules[i]);
        assert_ok(policy_add(&policy, text, plain->rules[i].allow ? POLICY_ALLOW : POLICY_DENY, "",
                             &err));
    }
    return policy;
}

/* 1: allow, 0: deny, -1: no rule. */
static int plain_network(const struct plain *plain, bool is_ipv6, uint32_t address, unsigned port)
{
    for (int bits = 32; bits >= 0; bits--)
        for (int with_port = 1; with_port >= 0; with_port--) {
            int found = -1;
            for (unsigned i = 0; i < plain->count; i++) {
                const struct plain_rule *rule = &plain->rules[i];
                if (rule->name || rule->is_ipv6 != is_ipv6 || rule->bits != (unsigned)bits ||
                    (address & mask(rule->bits)) != rule->network ||
                    rule->port != (with_port ? port : 0))
                    continue;
                found = found == 0 ? 0 : rule->allow;
            }
            if (found >= 0)
                return found;
        }
    return -1;
}

static int plain_name_level(const struct plain *plain, const char *suffix, bool is_wildcard,
                            unsigned port)
{
    for (int with_port = 1; with_port >= 0; with_port--) {
        int found = -1;
        for (unsigned i = 0; i < plain->count; i++) {
            const struct plain_rule *rule = &plain->rules[i];
            if (rule->name && rule->is_wildcard == is_wildcard && !strcmp(rule->name, suffix) &&
                rule->port == (with_port ? port : 0))
                found = found == 0 ? 0 : rule->allow;
        }
        if (found >= 0)
            return found;
    }
    return -1;
}

static int plain_name(const struct plain *plain, const char *name, unsigned port)
{
    int found = plain_name_level(plain, name, false, port);
    for (const char *dot = strchr(name, '.'); found < 0 && dot; dot = strchr(dot + 1, '.'))
        found = plain_name_level(plain, dot + 1, true, port);
    return found;
}

static enum policy_verdict plain_verdict(const struct plain *plain, int found)
{
    return found > 0 || (found < 0 && plain->allow_by_default) ? POLICY_ALLOW : POLICY_DENY;
}

/* --- what the product says --- */

static struct policy_address address_of(bool is_ipv6, uint32_t low)
{
    struct policy_address address = policy_address_ipv4(low);
    if (!is_ipv6)
        return address;
    struct policy_address out = {POLICY_IPV6, {0x20, 0x01, 0x0d, 0xb8}};
    memcpy(out.bytes + 12, address.bytes, 4);
    return out;
}

static enum policy_verdict port_verdict(enum policy_verdict base, const struct policy_port *list,
                                        size_t count, unsigned port)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].port == port)
            return list[i].verdict;
    return base;
}

struct flat {
    struct policy_range *ranges;
    size_t count;
};

static enum policy_verdict flat_verdict(const struct policy *policy, const struct flat *flat,
                                        const struct policy_address *address, unsigned port)
{
    for (size_t i = 0; i < flat->count; i++) {
        const struct policy_range *range = &flat->ranges[i];
        if (policy_address_compare(&range->first, address) <= 0 &&
            policy_address_compare(address, &range->last) <= 0)
            return port_verdict(range->verdict, range->ports, range->port_count, port);
    }
    return policy->default_verdict;
}

static void assert_flat_form(const struct policy *policy, const struct flat *flat)
{
    for (size_t i = 0; i < flat->count; i++) {
        const struct policy_range *range = &flat->ranges[i];
        assert_true(policy_address_compare(&range->first, &range->last) <= 0);
        assert_true(!i || policy_address_compare(&range[-1].last, &range->first) < 0);
        assert_true(range->verdict != policy->default_verdict || range->port_count);
        for (size_t j = 0; j < range->port_count; j++) {
            assert_true(range->ports[j].verdict != range->verdict);
            assert_true(range->ports[j].port > (j ? range->ports[j - 1].port : 0));
        }
    }
}

static void check_networks(const struct plain *plain, const struct policy *policy)
{
    static const unsigned probe_ports[] = {80, 443, 65535, 1};
    struct flat flat[2];
    for (int is_ipv6 = 0; is_ipv6 < 2; is_ipv6++) {
        policy_ranges(policy, is_ipv6 ? POLICY_IPV6 : POLICY_IPV4, &flat[is_ipv6].ranges,
                      &flat[is_ipv6].count);
        assert_flat_form(policy, &flat[is_ipv6]);
    }
    for (unsigned i = 0; i < PROBES; i++) {
        bool is_ipv6 = !below(3);
        uint32_t low = random_address();
        /* The edges of the rules are where it goes wrong. */
        if (plain->count && below(2)) {
            const struct plain_rule *rule = &plain->rules[below(plain->count)];
            is_ipv6 = rule->is_ipv6;
            low = (below(2) ? rule->network : rule->network | ~mask(rule->bits)) + below(3) - 1;
        }
        unsigned port = probe_ports[below(ARRAY_SIZE(probe_ports))];
        struct policy_address address = address_of(is_ipv6, low);
        enum policy_verdict expected =
            plain_verdict(plain, plain_network(plain, is_ipv6, low, port));
        assert_int_equal(policy_decide_address(policy, &address, (uint16_t)port).verdict, expected);
        assert_int_equal(flat_verdict(policy, &flat[is_ipv6], &address, port), expected);
    }
    for (int is_ipv6 = 0; is_ipv6 < 2; is_ipv6++)
        policy_ranges_free(flat[is_ipv6].ranges, flat[is_ipv6].count);
}

static void check_names(const struct plain *plain, const struct policy *policy)
{
    static const unsigned probe_ports[] = {80, 443, 65535, 1};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct policy_name found;
        bool any_allowed = false, any_listed = false;
        policy_name_find(policy, names[i], &found);
        for (size_t j = 0; j < ARRAY_SIZE(probe_ports); j++) {
            unsigned port = probe_ports[j];
            int by_rule = plain_name(plain, names[i], port);
            enum policy_verdict expected = plain_verdict(plain, by_rule);
            struct policy_decision decision = policy_decide_name(policy, names[i], (uint16_t)port);
            assert_int_equal(decision.verdict, expected);
            assert_int_equal(decision.rule != NULL, by_rule >= 0);
            assert_int_equal(
                port_verdict(found.any_port.verdict, found.ports, found.port_count, port),
                expected);
            any_allowed |= expected == POLICY_ALLOW;
            any_listed |= by_rule >= 0;
        }
        assert_int_equal(found.resolves, any_allowed);
        assert_int_equal(found.listed, any_listed);
        policy_name_deinit(&found);
    }
}

static void check_wire(const struct policy *policy)
{
    error_auto err = NULL;
    policy_wire_auto again = {0};
    struct policy_wire wire = {.sandbox_id = (char *)(uintptr_t) "sbx_1",
                               .address = 0x0a000001,
                               .revision = 1,
                               .policy = *policy};
    json_auto_t *json = policy_wire_json(&wire);
    assert_ok(policy_wire_read(json, &again, &err));
    json_auto_t *json_again = policy_wire_json(&again);
    assert_true(json_equal(json, json_again));
}

TEST(policies_mean_what_the_plain_evaluator_says)
{
    const char *seed = getenv("SANDLOT_TEST_SEED");
    uint64_t first = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
    for (unsigned i = 0; i < POLICIES; i++) {
        struct plain plain;
        random_state = (first + i) * 2 + 1;
        if (i == 0)
            print_message("# SANDLOT_TEST_SEED=%llu\n", (unsigned long long)first);
        random_plain(&plain);
        policy_auto policy = compile(&plain);
        check_networks(&plain, &policy);
        check_names(&plain, &policy);
        check_wire(&policy);
    }
}
