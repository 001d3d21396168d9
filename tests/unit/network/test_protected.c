/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "network/protected.h"

static const char *reason(const struct protected_networks *networks, const char *text)
{
    struct policy_address address;
    assert_int_equal(policy_address_parse(text, &address), 0);
    return protected_reason(networks, &address);
}

TEST(protects_special_networks)
{
    static const char *const closed[] = {
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "127.0.0.1",
        "169.254.169.254",
        "168.63.129.16",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.255.255",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "::1",
        "::",
        "fe80::1",
        "fd00::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "::10.0.0.1",
        "2002::1",
        "64:ff9b::a00:1",
    };
    static const char *const open[] = {
        "1.1.1.1",   "9.255.255.255", "11.0.0.0",      "172.32.0.0", "203.0.113.1",
        "192.0.2.1", "168.63.129.15", "168.63.129.17", "2606::1",    "2001:db8::1"};
    struct protected_networks networks = {0};
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++)
        if (!reason(&networks, closed[i]))
            fail_msg("%s is open", closed[i]);
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        if (reason(&networks, open[i]))
            fail_msg("%s is protected: %s", open[i], reason(&networks, open[i]));
}

TEST(opens_what_the_operator_opens)
{
    struct protected_networks networks = {0};
    error_auto err = NULL;
    assert_ok(protected_open(&networks, "10.20.0.0/16, 192.168.7.7 172.16.0.0/12", &err));
    assert_ok(protected_close(&networks, "10.20.30.0/24", &err));
    assert_null(reason(&networks, "10.20.0.1"));
    assert_null(reason(&networks, "192.168.7.7"));
    assert_null(reason(&networks, "172.20.0.1"));
    assert_non_null(reason(&networks, "10.21.0.1"));
    assert_non_null(reason(&networks, "192.168.7.8"));
    assert_non_null(reason(&networks, "10.20.30.40"));
}

TEST(never_opens_the_rest)
{
    static const char *const bad[] = {"169.254.169.254", "168.63.0.0/16", "127.0.0.0/8",
                                      "0.0.0.0/0",       "224.0.0.1",     "fe80::/64",
                                      "128.0.0.0/1",     "::/0"};
    struct protected_networks networks = {0};
    struct error *err = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_fails_saying(protected_open(&networks, bad[i], &err), ERR_CONFIG,
                            "cannot be opened");
    assert_fails_saying(protected_open(&networks, "example.com", &err), ERR_CONFIG,
                        "is not a network");
    assert_fails_saying(protected_open(&networks, "10.0.0.1:80", &err), ERR_CONFIG,
                        "is not a network");
    assert_fails_saying(protected_open(&networks, "10.0.0.1/8", &err), ERR_CONFIG, "10.0.0.0/8");
    assert_int_equal(networks.open_count, 0);
}

/* Each address is in an interval exactly when it has a reason. */
static void assert_intervals(const struct protected_networks *networks)
{
    for (int family = POLICY_IPV4; family <= POLICY_IPV6; family++) {
        struct policy_range *ranges;
        size_t count;
        protected_ranges(networks, family, &ranges, &count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(ranges[i].verdict, POLICY_DENY);
            assert_int_equal(ranges[i].port_count, 0);
            assert_non_null(protected_reason(networks, &ranges[i].first));
            assert_non_null(protected_reason(networks, &ranges[i].last));
        }
        for (uint64_t high = 0; high < 0x10000; high++) {
            struct policy_address address = {.family = family};
            address.bytes[0] = (uint8_t)(high >> 8);
            address.bytes[1] = (uint8_t)high;
            address.bytes[2] = 30;
            bool inside = false;
            for (size_t i = 0; i < count; i++)
                inside |= policy_address_compare(&ranges[i].first, &address) <= 0 &&
                          policy_address_compare(&address, &ranges[i].last) <= 0;
            assert_int_equal(inside, protected_reason(networks, &address) != NULL);
        }
        policy_ranges_free(ranges, count);
    }
}

TEST(the_intervals_say_the_same)
{
    error_auto err = NULL;
    struct protected_networks networks = {0};
    assert_intervals(&networks);
    assert_ok(
        protected_open(&networks, "10.20.0.0/16 172.0.0.0/8 192.168.0.0/16 10.20.30.0/25", &err));
    assert_ok(protected_close(&networks, "10.20.30.0/24", &err));
    assert_ok(protected_close(&networks, "198.51.0.0/16", &err));
    assert_intervals(&networks);
}
