/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "firewall/sources.h"
#include "http/pool.h"

#define FIRST  "tea_0123456789abcdefghijklmnop"
#define SECOND "tea_0123456789abcdefghijklmnoq"

TEST(a_team_has_the_address_of_its_entry)
{
    error_auto err = NULL;
    struct sources sources = {.count = 0};
    assert_ok(sources_read(&sources, FIRST "=203.0.113.7, " SECOND "=203.0.113.8", &err));
    assert_int_equal(sources_of(&sources, pool_tenant(FIRST)), 0xcb007107);
    assert_int_equal(sources_of(&sources, pool_tenant(SECOND)), 0xcb007108);
    assert_int_equal(sources_of(&sources, 0), 0);
    assert_ok(sources_read(&sources, "", &err));
    assert_int_equal(sources.count, 2);
}

TEST(wrong_entries_are_refused)
{
    static const char *const wrong[] = {FIRST,
                                        FIRST "=",
                                        FIRST "=203.0.113",
                                        "team=203.0.113.7",
                                        FIRST "=::1",
                                        FIRST "=203.0.113.7," FIRST "=203.0.113.8"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        error_auto err = NULL;
        struct sources sources = {.count = 0};
        assert_fails(sources_read(&sources, wrong[i], &err), ERR_CONFIG);
    }
}

TEST(addresses_of_other_machines_are_missing)
{
    error_auto err = NULL;
    struct sources sources = {.count = 0};
    assert_ok(sources_read(&sources, FIRST "=127.0.0.1 " SECOND "=203.0.113.8", &err));
    sources_look(&sources);
    json_auto_t *missing = sources_missing(&sources);
    assert_int_equal(json_array_size(missing), 1);
    assert_string_equal(json_string_value(json_array_get(missing, 0)), "203.0.113.8");
}
