/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <sodium.h>

#include "base/throttle.h"

#define RATE 10

static struct throttle throttle;

/* A key of which it is known that no two of the addresses here share a place. */
static int begin(void **state)
{
    throttle = (struct throttle){.has_key = true};
    return sodium_init() < 0 ? -1 : 0;
}

static void refuse(const char *address, int count, int64_t now_ms)
{
    for (int i = 0; i < count; i++)
        throttle_count(&throttle, address, RATE, now_ms);
}

TEST_WITH(test_an_address_is_stopped_and_let_go, begin, NULL)
{
    const char *address = "192.0.2.1";
    assert_false(throttle_is_over(&throttle, address, RATE, 1000));
    refuse(address, 2 * RATE - 1, 1000);
    assert_false(throttle_is_over(&throttle, address, RATE, 1000));
    refuse(address, 1, 1000);
    assert_true(throttle_is_over(&throttle, address, RATE, 1000));
    assert_true(throttle_is_over(&throttle, address, RATE, 1000));
    assert_false(throttle_is_over(&throttle, "192.0.2.2", RATE, 1000));
    /* A tenth of a second works off one, and no more than there are. */
    assert_false(throttle_is_over(&throttle, address, RATE, 1101));
    refuse(address, 1, 100000);
    assert_false(throttle_is_over(&throttle, address, RATE, 100000));
    refuse(address, 2 * RATE - 1, 100000);
    assert_true(throttle_is_over(&throttle, address, RATE, 100000));
}

TEST_WITH(test_a_network_of_ipv6_is_one, begin, NULL)
{
    refuse("2001:db8:1:2::1", RATE, 5000);
    refuse("2001:db8:1:2:ffff::2", RATE, 5000);
    assert_true(throttle_is_over(&throttle, "2001:db8:1:2::3", RATE, 5000));
    assert_false(throttle_is_over(&throttle, "2001:db8:1:3::3", RATE, 5000));
}

TEST_WITH(test_ipv4_within_ipv6_is_ipv4, begin, NULL)
{
    refuse("::ffff:198.51.100.1", 2 * RATE, 5000);
    assert_true(throttle_is_over(&throttle, "198.51.100.1", RATE, 5000));
    assert_false(throttle_is_over(&throttle, "::ffff:198.51.100.2", RATE, 5000));
}

TEST_WITH(test_what_is_no_address_counts_by_its_name, begin, NULL)
{
    refuse("unix:", 2 * RATE, 5000);
    assert_true(throttle_is_over(&throttle, "unix:", RATE, 5000));
    assert_false(throttle_is_over(&throttle, "sbx_01kamqk3c9d8e7f6g5h4j3k2m1", RATE, 5000));
}
