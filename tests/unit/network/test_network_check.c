/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "network/network_check.h"

static struct policy policy_with(enum policy_verdict by_default, const char *allowed)
{
    struct policy policy = {.default_verdict = by_default};
    error_auto err = NULL;
    if (allowed)
        assert_ok(policy_add(&policy, allowed, POLICY_ALLOW, "/allow_out/0", &err));
    return policy;
}

static void assert_verdict(const struct policy *policy, const struct protected_networks *networks,
                           const char *host, uint16_t port, enum policy_verdict expected,
                           const char *reason)
{
    error_auto err = NULL;
    struct network_question question = {host, port};
    struct network_verdict verdict;
    assert_ok(network_verdict_find(policy, networks, &question, &verdict, &err));
    if (verdict.verdict != expected || strcmp(verdict.reason, reason) != 0)
        fail_msg("%s:%u: %s by %s: %s", host, port, policy_verdict_name(verdict.verdict),
                 verdict.reason, verdict.message);
    assert_int_equal(verdict.rule != NULL, strcmp(reason, "entry") == 0);
}

TEST(a_policy_decides)
{
    static const struct protected_networks networks = {0};
    policy_auto closed = policy_with(POLICY_DENY, "a.test:443"),
                open = policy_with(POLICY_ALLOW, NULL);
    assert_verdict(&closed, &networks, "A.test.", 443, POLICY_ALLOW, "entry");
    assert_verdict(&closed, &networks, "a.test", 80, POLICY_DENY, "default");
    assert_verdict(&closed, &networks, "b.test", 443, POLICY_DENY, "default");
    assert_verdict(&closed, &networks, "192.0.2.1", 443, POLICY_DENY, "default");
    assert_verdict(&open, &networks, "b.test", 443, POLICY_ALLOW, "default");
    assert_verdict(&open, &networks, "192.0.2.1", 443, POLICY_ALLOW, "default");
}

TEST(some_things_are_closed_to_all)
{
    static const struct protected_networks networks = {0};
    policy_auto open = policy_with(POLICY_ALLOW, "0.0.0.0/0");
    assert_verdict(&open, &networks, "10.0.0.1", 80, POLICY_DENY, "protected_network");
    assert_verdict(&open, &networks, "::ffff:10.0.0.1", 80, POLICY_DENY, "protected_network");
    assert_verdict(&open, &networks, "[2001:db8::1]", 80, POLICY_DENY, "ipv6");
    assert_verdict(&open, &networks, "192.0.2.1", 53, POLICY_DENY, "name_service");
    assert_verdict(&open, &networks, "a.test", 853, POLICY_DENY, "name_service");
}

TEST(what_the_operator_opens_is_decided)
{
    struct protected_networks networks = {0};
    error_auto err = NULL;
    policy_auto closed = policy_with(POLICY_DENY, "10.20.0.0/24");
    assert_ok(protected_open(&networks, "10.20.0.0/16", &err));
    assert_ok(protected_close(&networks, "10.20.0.128/25", &err));
    assert_verdict(&closed, &networks, "10.20.0.1", 80, POLICY_ALLOW, "entry");
    assert_verdict(&closed, &networks, "10.20.1.1", 80, POLICY_DENY, "default");
    assert_verdict(&closed, &networks, "10.20.0.129", 80, POLICY_DENY, "protected_network");
}

TEST(what_is_no_host_is_refused)
{
    static const struct protected_networks networks = {0};
    static const char *const bad[] = {"127.1", "a b", "", "[a.test]", "10.0.0.0/8", "*.a.test"};
    policy_auto open = policy_with(POLICY_ALLOW, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct error *err = NULL;
        struct network_question question = {bad[i], 80};
        struct network_verdict verdict;
        int result = network_verdict_find(&open, &networks, &question, &verdict, &err);
        assert_int_equal(result, -1);
        assert_int_equal(err->code, ERR_INVALID_REQUEST);
        assert_string_equal(err->field, "/host");
        error_clear(&err);
    }
}

TEST(classes_are_known)
{
    struct network_class class = network_class_of("internet");
    assert_true(class.internet && !class.registries);
    class = network_class_of("registries");
    assert_true(!class.internet && class.registries);
    class = network_class_of("isolated");
    assert_true(!class.internet && !class.registries);
}
