/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "host/host_check.h"

TEST(reads_ranges)
{
    struct address_range range;
    assert_int_equal(address_range_parse("10.90.0.0/16", &range), 0);
    assert_int_equal(range.first, 0x0a5a0000);
    assert_int_equal(range.last, 0x0a5affff);
    struct address_range usable = address_range_usable(range);
    assert_int_equal(usable.first, 0x0a5a0002);
    assert_int_equal(usable.last, 0x0a5afffe);
    assert_int_equal(address_range_parse("192.168.7.8/29", &range), 0);
    assert_int_equal(range.last - range.first, 7);
}

TEST(refuses_other_ranges)
{
    static const char *const bad[] = {"",
                                      "10.90.0.0",
                                      "10.90.0.0/",
                                      "10.90.0.0/15",
                                      "10.90.0.0/30",
                                      "10.90.0.1/16",
                                      "10.90.0/16",
                                      "10.90.0.0/016",
                                      "10.90.0.0/16 ",
                                      "fd00::/64",
                                      "256.0.0.0/16",
                                      "10.90.0.0.0/16"};
    struct address_range range;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (address_range_parse(bad[i], &range) == 0)
            fail_msg("'%s' was taken", bad[i]);
}

TEST(finds_overlaps)
{
    struct address_range a, b, c;
    assert_int_equal(address_range_parse("10.90.0.0/16", &a), 0);
    assert_int_equal(address_range_parse("10.90.240.0/24", &b), 0);
    assert_int_equal(address_range_parse("10.91.0.0/16", &c), 0);
    assert_true(address_ranges_overlap(a, b));
    assert_true(address_ranges_overlap(b, a));
    assert_true(address_ranges_overlap(a, a));
    assert_false(address_ranges_overlap(a, c));
    assert_false(address_ranges_overlap(c, b));
}

TEST(formats_addresses)
{
    char text[IPV4_TEXT_SIZE];
    assert_string_equal(ipv4_format(0x0a5a0102, text), "10.90.1.2");
    assert_string_equal(ipv4_format(0xffffffff, text), "255.255.255.255");
}

static const struct host good = {
    .name = "host-1",
    .url = (char *)(uintptr_t) "unix:///run/incus/unix.socket",
    .project = "sandlot",
    .pool = "pool_1",
    .nic_prefix = "sl",
    .address_range = "10.90.0.0/16",
    .vcpus = 4,
    .memory_mb = 4096,
    .memory_overcommit = 100,
};

TEST(checks_each_field)
{
    struct error *err = NULL;
    struct host host = good;
    assert_ok(host_check(&host, &err));
#define assert_refused(field_name, assignment)                      \
    do {                                                            \
        host = good;                                                \
        assignment;                                                 \
        assert_fails(host_check(&host, &err), ERR_INVALID_REQUEST); \
        assert_string_equal(err->field, field_name);                \
        error_clear(&err);                                          \
    } while (0)
    assert_refused("name", host.name[0] = '-');
    assert_refused("url", host.url = (char *)(uintptr_t) "http://host:8443");
    assert_refused("url", host.url = (char *)(uintptr_t) "https://host:8443/path");
    assert_refused("url", host.url = (char *)(uintptr_t) "unix://relative");
    assert_refused("url", host.url = NULL);
    assert_refused("server_cert", host.server_cert = (char *)(uintptr_t) "no certificate");
    assert_refused("project", host.project[0] = '\0');
    assert_refused("pool", host.pool[0] = '/');
    assert_refused("nic_prefix", host.nic_prefix[0] = '1');
    assert_refused("range", host.address_range[0] = 'x');
    assert_refused("vcpus", host.vcpus = 0);
    assert_refused("memory_mb", host.memory_mb = 0);
    assert_refused("disk_overcommit", host.disk_overcommit = 10001);
    assert_refused("memory_overcommit", host.memory_overcommit = 99);
    assert_refused("memory_overcommit", host.memory_overcommit = 2001);
    static const char *const no_relays[] = {"http://10.0.0.7:8446",    "https://10.0.0.7",
                                            "https://host:8446",       "https://10.0.0.7:0",
                                            "https://10.0.0.7:8446/x", "https://10.0.0.7.8:8446",
                                            "https://:8446",           "10.0.0.7:8446"};
    for (size_t i = 0; i < sizeof no_relays / sizeof no_relays[0]; i++)
        assert_refused("relay", host.relay_url = (char *)(uintptr_t)no_relays[i]);
    /* The socket of a daemon is on this machine, which needs no relay. */
    assert_refused("relay", host.relay_url = (char *)(uintptr_t) "https://10.0.0.7:8446");
    host = good;
    host.url = (char *)(uintptr_t) "https://10.0.0.7:8443";
    assert_ok(host_check(&host, &err));
    host.relay_url = (char *)(uintptr_t) "https://10.0.0.7:8446";
    assert_ok(host_check(&host, &err));
}

TEST(a_network_holds_the_range)
{
    struct error *err = NULL;
    struct host host = good;
    assert_true(host_has_address(&host, 0x0a5a0102));
    assert_false(host_has_address(&host, 0x0a5b0102));
    memcpy(host.network, "10.64.0.0/10", sizeof "10.64.0.0/10");
    assert_ok(host_check(&host, &err));
    assert_true(host_has_address(&host, 0x0a5b0102));
    assert_false(host_has_address(&host, 0x0a800102));
    static const char *const bad[] = {"10.0.0.0/7", "10.64.0.0/30", "10.91.0.0/16", "10.64.0.0",
                                      "10.64.0.1/10"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_refused("network", snprintf(host.network, sizeof host.network, "%s", bad[i]));
}
