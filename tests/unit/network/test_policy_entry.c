/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "network/policy_entry.h"

#define LABEL_63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

TEST(gives_the_canonical_text)
{
    static const char *const cases[][2] = {
        {"api.example.com", "api.example.com"},
        {"API.Example.COM.", "api.example.com"},
        {"api.example.com:443", "api.example.com:443"},
        {"api.example.com.:443", "api.example.com:443"},
        {"*.example.com", "*.example.com"},
        {"*.Example.com:65535", "*.example.com:65535"},
        {"*.test", "*.test"},
        {"intranet", "intranet"},
        {"xn--bcher-kva.example", "xn--bcher-kva.example"},
        {"3com.example", "3com.example"},
        {"My_Bucket.example.net:443", "my_bucket.example.net:443"},
        {"_mongodb._tcp.cluster0.example.net", "_mongodb._tcp.cluster0.example.net"},
        {"*._tcp.example.net", "*._tcp.example.net"},
        {LABEL_63 ".test", LABEL_63 ".test"},
        {"203.0.113.7", "203.0.113.7"},
        {"203.0.113.7/32", "203.0.113.7"},
        {"203.0.113.0/24", "203.0.113.0/24"},
        {"203.0.113.7:1", "203.0.113.7:1"},
        {"203.0.113.0/24:8443", "203.0.113.0/24:8443"},
        {"0.0.0.0/0", "0.0.0.0/0"},
        {"2001:DB8:0:0::1", "2001:db8::1"},
        {"2001:db8::1/128", "2001:db8::1"},
        {"2001:db8::/32", "2001:db8::/32"},
        {"::/0", "::/0"},
        {"[2001:db8::1]", "2001:db8::1"},
        {"[2001:db8::1]:443", "[2001:db8::1]:443"},
        {"[2001:db8::/32]:443", "[2001:db8::/32]:443"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error *err = NULL;
        struct policy_entry entry;
        if (policy_entry_parse(cases[i][0], &entry, &err) < 0)
            fail_msg("'%s': %s", cases[i][0], err->message);
        autofree char *text = policy_entry_text(&entry);
        assert_string_equal(text, cases[i][1]);
        policy_entry_deinit(&entry);
    }
}

TEST(refuses_everything_else)
{
    static const char *const cases[][2] = {
        {"", "1 to 300"},
        {".", "IPv4 address"},
        {"..", "IPv4 address"},
        {"a..b", "labels"},
        {".a.b", "labels"},
        {"a.b..", "labels"},
        {" example.com", "labels"},
        {"example.com ", "labels"},
        {"exa mple.com", "labels"},
        {"-a.test", "labels"},
        {"a-.test", "labels"},
        {"a_-.test", "labels"},
        {"b\xc3\xbc"
         "cher.example",
         "xn--"},
        {LABEL_63 "a.test", "1 to 63"},
        {"*", "0.0.0.0/0"},
        {"*:443", "0.0.0.0/0"},
        {"*.", "labels"},
        {"*example.com", "only be at the beginning"},
        {"a.*.test", "only be at the beginning"},
        {"*.*.test", "only be at the beginning"},
        {"https://example.com", "URL"},
        {"https://example.com:443/", "URL"},
        {"example.com/path", "URL"},
        {"example.com:", "A port"},
        {"example.com:0", "A port"},
        {"example.com:65536", "A port"},
        {"example.com:0443", "A port"},
        {"example.com:+443", "A port"},
        {"example.com:https", "A port"},
        {"example.com:443-500", "A port"},
        {":443", "labels"},
        {"1.2.3", "IPv4 address"},
        {"1.2.3.4.5", "IPv4 address"},
        {"256.1.1.1", "IPv4 address"},
        {"010.0.0.1", "IPv4 address"},
        {"127.1", "IPv4 address"},
        {"2130706433", "IPv4 address"},
        {"0x7f.1", "IPv4 address"},
        {"a.0x7f", "not an IPv4 address"},
        {"example.123", "not an IPv4 address"},
        {"1.2.3.4/33", "0 to 32"},
        {"1.2.3.4/", "0 to 32"},
        {"1.2.3.4/024", "0 to 32"},
        {"1.2.3.4/255.255.255.0", "0 to 32"},
        {"203.0.113.7/24", "203.0.113.0/24"},
        {"2001:db8::1/32", "2001:db8::/32"},
        {"2001:db8::/129", "0 to 128"},
        {"2001:db8::/32:443", "in brackets"},
        {"2001:db8::g", "IPv6 address"},
        {"fe80::1%eth0", "IPv6 address"},
        {":::", "IPv6 address"},
        {"::ffff:192.0.2.1", "IPv4-mapped"},
        {"[2001:db8::1", "in brackets"},
        {"[2001:db8::1]443", "in brackets"},
        {"[2001:db8::1]/64", "in brackets"},
        {"[2001:db8::1]:", "A port"},
        {"[1.2.3.4]:80", "IPv6 addresses only"},
        {"[example.com]:80", "IPv6 addresses only"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error *err = NULL;
        struct policy_entry entry;
        if (policy_entry_parse(cases[i][0], &entry, &err) == 0)
            fail_msg("'%s' was taken", cases[i][0]);
        if (err->code != ERR_INVALID_REQUEST || !strstr(err->message, cases[i][1]))
            fail_msg("'%s': %s", cases[i][0], err->message);
        error_clear(&err);
    }
}

TEST(bounds_names)
{
    struct error *err = NULL;
    struct policy_entry entry;
    char name[400] = "";
    for (int i = 0; i < 126; i++)
        strncat(name, "a.", sizeof name - strlen(name) - 1);
    strncat(name, "a", sizeof name - strlen(name) - 1);
    assert_int_equal(strlen(name), 253);
    assert_ok(policy_entry_parse(name, &entry, &err));
    policy_entry_deinit(&entry);
    strncat(name, "b", sizeof name - strlen(name) - 1);
    assert_fails_saying(policy_entry_parse(name, &entry, &err), ERR_INVALID_REQUEST, "253");
    memset(name, 'a', sizeof name - 1);
    assert_fails_saying(policy_entry_parse(name, &entry, &err), ERR_INVALID_REQUEST, "300");
}

static bool name_matches(const char *text, const char *name)
{
    error_auto err = NULL;
    struct policy_entry entry;
    assert_ok(policy_entry_parse(text, &entry, &err));
    bool matches = policy_entry_matches_name(&entry, name);
    policy_entry_deinit(&entry);
    return matches;
}

TEST(matches_names)
{
    assert_true(name_matches("example.com", "example.com"));
    assert_false(name_matches("example.com", "a.example.com"));
    assert_false(name_matches("example.com", "xexample.com"));
    assert_true(name_matches("*.example.com", "a.example.com"));
    assert_true(name_matches("*.example.com", "a.b.example.com"));
    assert_false(name_matches("*.example.com", "example.com"));
    assert_false(name_matches("*.example.com", "aexample.com"));
    assert_false(name_matches("*.example.com", ".example.com"));
    assert_false(name_matches("*.example.com", "a.example.com.evil.test"));
    assert_true(name_matches("*.com", "example.com"));
    assert_false(name_matches("192.0.2.1", "192.0.2.1"));
}

static bool address_matches(const char *text, const char *address)
{
    error_auto err = NULL;
    struct policy_entry entry;
    struct policy_address parsed;
    assert_ok(policy_entry_parse(text, &entry, &err));
    assert_int_equal(policy_address_parse(address, &parsed), 0);
    bool matches = policy_entry_matches_address(&entry, &parsed);
    policy_entry_deinit(&entry);
    return matches;
}

TEST(matches_addresses)
{
    assert_true(address_matches("203.0.113.0/25", "203.0.113.127"));
    assert_false(address_matches("203.0.113.0/25", "203.0.113.128"));
    assert_true(address_matches("0.0.0.0/0", "255.255.255.255"));
    assert_false(address_matches("0.0.0.0/0", "2001:db8::1"));
    assert_true(address_matches("::/0", "2001:db8::1"));
    assert_false(address_matches("::/0", "192.0.2.1"));
    assert_true(address_matches("192.0.2.1", "::ffff:192.0.2.1"));
    assert_true(address_matches("2001:db8::/33", "2001:db8:7fff::1"));
    assert_false(address_matches("2001:db8::/33", "2001:db8:8000::1"));
}

/* Each is more specific than the next. */
TEST(orders_by_specificity)
{
    static const char *const texts[] = {
        "a.example.com:443", "a.example.com",  "*.example.com:443", "*.example.com",
        "*.com:443",         "*.com",          "203.0.113.7:443",   "203.0.113.7",
        "203.0.113.0/24:80", "203.0.113.0/24", "0.0.0.0/0:80",      "0.0.0.0/0",
    };
    struct policy_entry entries[ARRAY_SIZE(texts)];
    error_auto err = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_ok(policy_entry_parse(texts[i], &entries[i], &err));
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        for (size_t j = 0; j < ARRAY_SIZE(texts); j++) {
            int order = policy_entry_compare(&entries[i], &entries[j]);
            if ((i < j) != (order > 0) || (i == j) != (order == 0))
                fail_msg("%s against %s: %d", texts[i], texts[j], order);
        }
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        policy_entry_deinit(&entries[i]);
}
