/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "login/address_list.h"

#define LIST "10.1.2.3, 192.168.0.0/22 ,2001:db8::/33,::1"

TEST(lists_are_checked)
{
    static const char *const wrong[] = {"x",      "10.0.0.0/33", "10.0.0.0/",     "10.0.0.0/-1",
                                        "::/129", ",",           "10.0.0.1,,::1", "10.0.0.1/8/8"};
    struct error *err = NULL;
    assert_ok(address_list_check("s", "", &err));
    assert_ok(address_list_check("s", LIST, &err));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_fails_saying(address_list_check("login_header_from", wrong[i], &err), ERR_CONFIG,
                            "login_header_from");
}

TEST(addresses_are_found)
{
    static const char *const in[] = {"10.1.2.3", "::ffff:10.1.2.3", "192.168.3.255", "192.168.0.0",
                                     "::1",      "2001:db8:7fff::1"};
    static const char *const out[] = {
        "10.1.2.4", "192.168.4.0", "::2", "2001:db8:8000::1", "", "x", "10.1.2.3, 10.1.2.3"};
    for (size_t i = 0; i < sizeof in / sizeof in[0]; i++)
        assert_true(address_list_has(LIST, in[i]));
    for (size_t i = 0; i < sizeof out / sizeof out[0]; i++)
        assert_false(address_list_has(LIST, out[i]));
    assert_false(address_list_has("", "10.1.2.3"));
    assert_true(address_list_has("0.0.0.0/0", "10.1.2.3"));
    assert_false(address_list_has("0.0.0.0/0", "::1"));
}
