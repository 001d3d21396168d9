/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "firewall/dns_decide.h"
#include "firewall/egress.h"
#include "firewall/names.h"
#include "firewall/upstreams.h"

#define NOW 1000000
#define X   0xcb007107u
#define Y   0xcb007108u

/* "+entry" allows, "-entry" denies. */
static struct policy policy_of(enum policy_verdict by_default, const char *const rules[])
{
    struct policy policy = {.default_verdict = by_default};
    error_auto err = NULL;
    for (size_t i = 0; rules[i]; i++)
        assert_ok(policy_add(&policy, rules[i] + 1, rules[i][0] == '+' ? POLICY_ALLOW : POLICY_DENY,
                             "", &err));
    return policy;
}
#define POLICY_OF(by_default, ...) policy_of(by_default, (const char *const[]){__VA_ARGS__, NULL})

/* "+7:443 -8:0 …": verdict, last byte, port. */
static void assert_elements(const struct names *names, int64_t now_ms, const char *expected)
{
    autofree struct name_element *elements = NULL;
    size_t count;
    buffer_auto text = BUFFER_INIT(1024);
    names_elements(names, now_ms, ELEMENTS_MAX, &elements, &count);
    for (size_t i = 0; i < count; i++)
        buffer_printf(&text, "%s%c%u:%u", i ? " " : "",
                      elements[i].verdict == POLICY_ALLOW ? '+' : '-', elements[i].address & 255,
                      elements[i].port);
    assert_string_equal(buffer_string(&text), expected);
}

TEST(answers_open_their_ports_until_they_end)
{
    policy_auto policy = POLICY_OF(POLICY_DENY, "+a.example:443", "+b.example");
    struct names names = {0};
    assert_true(names_answered(&names, &policy, "a.example", X, NOW + 5000));
    assert_true(names_answered(&names, &policy, "b.example", Y, NOW + 9000));
    assert_false(names_answered(&names, &policy, "a.example", X, NOW + 4000));
    assert_elements(&names, NOW, "+7:443 +8:0");
    assert_elements(&names, NOW + 5000, "+8:0");
    assert_int_equal(names_decide(&names, X, 443), NAME_ALLOWS);
    assert_int_equal(names_decide(&names, X, 80), NAME_SAYS_NOTHING);
    names_deinit(&names);
}

TEST(of_two_names_of_an_address_the_denied_one_counts)
{
    policy_auto policy = POLICY_OF(POLICY_DENY, "+a.example", "+b.example", "-b.example:22",
                                   "-c.example", "+c.example:443");
    struct names names = {0};
    names_answered(&names, &policy, "a.example", X, NOW + 5000);
    names_answered(&names, &policy, "b.example", X, NOW + 5000);
    assert_elements(&names, NOW, "-7:22 +7:0");
    names_answered(&names, &policy, "c.example", X, NOW + 5000);
    assert_elements(&names, NOW, "-7:22 +7:443 -7:0");
    assert_int_equal(names_decide(&names, X, 22), NAME_DENIES);
    assert_int_equal(names_decide(&names, X, 80), NAME_DENIES);
    names_deinit(&names);
}

TEST(watches_are_asked_in_turn_and_at_a_rate)
{
    struct lookup_list *list = calloc(1, sizeof *list);
    struct lookup *lookups[2 * LOOKUP_BURST], *due;
    unsigned looks = 10 * LOOKUP_BURST, asked = 0;
    for (unsigned i = 0; i < 2 * LOOKUP_BURST; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%u.example", i);
        lookups[i] = lookup_use(list, name);
        assert_ptr_equal(lookup_find(list, name), lookups[i]);
    }
    while ((due = lookup_due(list, 1, &looks))) {
        due->asked = true;
        asked++;
    }
    assert_int_equal(asked, LOOKUP_BURST);
    assert_int_equal(looks, 0);
    /* What was answered once does not wait for those. */
    looks = 10 * LOOKUP_BURST;
    for (unsigned i = 0; i < 2 * LOOKUP_BURST; i++)
        if (lookups[i]->asked)
            lookup_answered(lookups[i], (uint32_t[]){X}, 1, 1, 0);
    due = lookup_due(list, 1, &looks);
    assert_non_null(due);
    assert_true(due->answered);
    for (unsigned i = 0; i < 2 * LOOKUP_BURST; i++)
        lookup_release(list, lookups[i]);
    assert_null(list->at);
    assert_int_equal(list->count, 0);
    free(list);
}

TEST(a_host_that_fails_at_one_address_is_tried_at_another)
{
    static const uint32_t old[] = {X - 1}, both[] = {X, Y};
    struct filter *filter = calloc(1, sizeof *filter);
    struct lookup *lookup = lookup_use(&filter->lookups, "a.example");
    assert_int_equal(egress_address_of(filter, "a.example"), 0);
    lookup_answered(lookup, old, 1, NOW - 1, 0);
    lookup_answered(lookup, both, 2, NOW, 0);
    assert_int_equal(egress_address_of(filter, "a.example"), X);
    lookup_failed(lookup, X, NOW + 1);
    assert_int_equal(egress_address_of(filter, "a.example"), Y);
    lookup_answered(lookup, both, 2, NOW + 2, 0);
    assert_int_equal(egress_address_of(filter, "a.example"), Y);
    lookup_failed(lookup, Y, NOW + 3);
    assert_int_equal(egress_address_of(filter, "a.example"), X);
    lookup_release(&filter->lookups, lookup);
    free(filter);
}

TEST(there_is_an_end_to_lookups)
{
    struct lookup_list *list = calloc(1, sizeof *list);
    char name[32];
    for (unsigned i = 0; i <= LOOKUPS_MAX; i++) {
        snprintf(name, sizeof name, "n%u.example", i);
        assert_int_equal(lookup_use(list, name) != NULL, i < LOOKUPS_MAX);
    }
    assert_non_null(lookup_use(list, "n7.example"));
    lookup_release(list, lookup_find(list, "n7.example"));
    while (list->at)
        lookup_release(list, list->at);
    assert_int_equal(list->count, 0);
    free(list);
}

TEST(what_is_denied_and_does_not_fit_is_told)
{
    policy_auto policy = {.default_verdict = POLICY_ALLOW};
    struct name_lookup lookups[ELEMENTS_MAX / LOOKUP_ADDRESSES_MAX + 1];
    struct lookup_list *list = calloc(1, sizeof *list);
    struct names names = {.lookups = lookups};
    for (unsigned i = 0; i < ARRAY_SIZE(lookups); i++) {
        char name[32];
        uint32_t addresses[LOOKUP_ADDRESSES_MAX];
        struct name_element *elements;
        size_t count;
        snprintf(name, sizeof name, "n%u.example", i);
        for (unsigned j = 0; j < LOOKUP_ADDRESSES_MAX; j++)
            addresses[j] = 0x01000000 + i * LOOKUP_ADDRESSES_MAX + j;
        assert_int_equal(policy_add(&policy, name, POLICY_DENY, "test", NULL), 0);
        lookups[i] = (struct name_lookup){.lookup = lookup_use(list, name)};
        lookup_answered(lookups[i].lookup, addresses, LOOKUP_ADDRESSES_MAX, 0, 1000);
        name_rights_find(&policy, name, &lookups[i].rights);
        names.lookup_count++;
        assert_int_equal(names_elements(&names, NOW, ELEMENTS_MAX, &elements, &count),
                         names.lookup_count * LOOKUP_ADDRESSES_MAX <= ELEMENTS_MAX);
        free(elements);
        assert_false(names_elements(&names, NOW, LOOKUP_ADDRESSES_MAX - 1, &elements, &count));
        assert_int_equal(count, LOOKUP_ADDRESSES_MAX - 1);
        free(elements);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(lookups); i++) {
        name_rights_deinit(&lookups[i].rights);
        lookup_release(list, lookups[i].lookup);
    }
    free(list);
}

TEST(a_watched_name_denies_without_end)
{
    policy_auto policy = POLICY_OF(POLICY_ALLOW, "-bad.example:25", "+good.example");
    struct lookup_list list = {0};
    struct lookup *lookup = lookup_use(&list, "bad.example");
    struct name_lookup watched = {.lookup = lookup};
    struct names names = {.lookups = &watched, .lookup_count = 1};
    name_rights_find(&policy, "bad.example", &watched.rights);
    assert_elements(&names, NOW, "");
    assert_true(lookup_answered(lookup, (uint32_t[]){X}, 1, 0, 1000));
    assert_false(lookup_answered(lookup, (uint32_t[]){X}, 1, 10, 1000));
    assert_elements(&names, NOW, "-7:25");
    names_answered(&names, &policy, "good.example", X, NOW + 5000);
    assert_elements(&names, NOW, "-7:25 +7:0");
    assert_false(lookup_answered(lookup, NULL, 0, LOOKUP_KEEP_MS + 1000, 1000));
    assert_elements(&names, NOW, "-7:25 +7:0");
    names.lookups = NULL;
    names.lookup_count = 0;
    names_deinit(&names);
    name_rights_deinit(&watched.rights);
    lookup_release(&list, lookup);
    assert_null(list.at);
}

/* New addresses of hosts with egress rules change nothing in the kernel. */
TEST(lookups_matter_to_the_kernel_where_they_deny)
{
    static const struct {
        const char *name;
        bool denies, allows;
    } cases[] = {
        {"bad.example", true, false},
        {"mixed.example", true, true},
        {"good.example", false, true},
        {"other.example", false, false},
    };
    policy_auto policy = POLICY_OF(POLICY_ALLOW, "-bad.example", "-mixed.example:25",
                                   "+mixed.example:443", "+good.example");
    struct lookup_list list = {0};
    struct name_lookup used = {.lookup = lookup_use(&list, "other.example")};
    struct lookup *another = lookup_use(&list, "bad.example");
    struct names names = {.lookups = &used, .lookup_count = 1};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct name_rights rights;
        name_rights_find(&policy, cases[i].name, &rights);
        assert_int_equal(name_rights_deny(&rights), cases[i].denies);
        assert_int_equal(name_rights_allow(&rights), cases[i].allows);
        name_rights_deinit(&rights);
    }
    assert_ptr_equal(names_lookup(&names, used.lookup), &used);
    assert_false(name_rights_deny(&used.rights));
    assert_null(names_lookup(&names, another));
    lookup_release(&list, used.lookup);
    lookup_release(&list, another);
}

TEST(another_policy_keeps_what_it_allows)
{
    policy_auto before = POLICY_OF(POLICY_DENY, "+a.example", "+b.example");
    policy_auto after = POLICY_OF(POLICY_DENY, "+b.example:443");
    struct names names = {0};
    names_answered(&names, &before, "a.example", X, NOW + 5000);
    names_answered(&names, &before, "b.example", Y, NOW + 5000);
    names_apply(&names, &after);
    assert_elements(&names, NOW, "+8:443");
    assert_int_equal(names_decide(&names, X, 443), NAME_SAYS_NOTHING);
    names_deinit(&names);
}

TEST(answers_are_bounded)
{
    policy_auto policy = POLICY_OF(POLICY_DENY, "+*.example");
    struct names names = {0};
    for (uint32_t i = 0; i < NAMES_MAX + 100; i++)
        names_answered(&names, &policy, "x.example", X + i, NOW + i);
    assert_int_equal(names.count, NAMES_MAX);
    assert_int_equal(names_decide(&names, X, 80), NAME_SAYS_NOTHING);
    assert_int_equal(names_decide(&names, X + NAMES_MAX + 99, 80), NAME_ALLOWS);
    names_deinit(&names);
}

TEST(questions_are_decided_by_policy_and_type)
{
    static const struct {
        const char *name;
        unsigned type;
        enum dns_action restricted, open;
    } cases[] = {
        {"a.example", LDNS_RR_TYPE_A, DNS_FORWARD, DNS_FORWARD},
        {"a.example", LDNS_RR_TYPE_AAAA, DNS_ANSWER_EMPTY, DNS_ANSWER_EMPTY},
        {"a.example", 65, DNS_ANSWER_EMPTY, DNS_ANSWER_EMPTY},
        {"a.example", LDNS_RR_TYPE_TXT, DNS_ANSWER_REFUSED, DNS_FORWARD},
        {"a.example", LDNS_RR_TYPE_ANY, DNS_ANSWER_REFUSED, DNS_ANSWER_REFUSED},
        {"x.b.example", LDNS_RR_TYPE_A, DNS_FORWARD, DNS_FORWARD},
        {"b.example", LDNS_RR_TYPE_A, DNS_ANSWER_REFUSED, DNS_FORWARD},
        {"denied.example", LDNS_RR_TYPE_A, DNS_ANSWER_REFUSED, DNS_ANSWER_REFUSED},
        {"other.example", LDNS_RR_TYPE_A, DNS_ANSWER_REFUSED, DNS_FORWARD},
        {"", LDNS_RR_TYPE_A, DNS_ANSWER_REFUSED, DNS_ANSWER_REFUSED},
    };
    policy_auto closed = POLICY_OF(POLICY_DENY, "+a.example", "+*.b.example", "-denied.example");
    policy_auto open = POLICY_OF(POLICY_ALLOW, "-denied.example");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct dns_question question = {.type = (uint16_t)cases[i].type};
        memcpy(question.name, cases[i].name, strlen(cases[i].name) + 1);
        assert_int_equal(dns_decide_question(&closed, &question), cases[i].restricted);
        assert_int_equal(dns_decide_question(&open, &question), cases[i].open);
    }
    assert_true(dns_by_wildcard(&closed, "x.b.example"));
    assert_false(dns_by_wildcard(&closed, "a.example"));
}

TEST(a_rate_gives_a_burst_and_then_so_many_a_second)
{
    struct rate rate = {0};
    unsigned taken = 0;
    for (unsigned i = 0; i < 100; i++)
        taken += rate_take(&rate, 10, 5, NOW);
    assert_int_equal(taken, 10);
    for (unsigned i = 0; i < 100; i++)
        taken += rate_take(&rate, 10, 5, NOW + 1000);
    assert_int_equal(taken, 15);
}

TEST(upstreams_are_addresses_with_or_without_a_port)
{
    struct upstream upstreams[4];
    size_t count;
    error_auto err = NULL;
    assert_ok(upstreams_parse("192.0.2.1, 192.0.2.2:5353 [2001:db8::1]:53,2001:db8::2", upstreams,
                              4, &count, &err));
    assert_int_equal(count, 4);
    assert_int_equal(upstreams[1].address.ss_family, AF_INET);
    assert_int_equal(upstreams[3].address.ss_family, AF_INET6);
    static const char *const wrong[] = {"resolver.example", "192.0.2.1:0", "192.0.2.1:x", "[::1",
                                        "1 2 3 4 5"};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        error_auto problem = NULL;
        assert_int_equal(upstreams_parse(wrong[i], upstreams, 4, &count, &problem), -1);
        assert_int_equal(problem->code, ERR_CONFIG);
    }
}
