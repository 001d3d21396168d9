/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "agent/common/environment.h"
#include "base/mem.h"

static void keeps_the_last_value_of_each_name(void **state)
{
    environment_auto environment = {0};
    struct rpc_error error = {0};
    static const char *const names[] = {"AB", "A", "AB1", "ABC", "B", "A1", "_", "AB", "A"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char value[2] = {(char)('0' + i), '\0'};
        assert_int_equal(environment_set(&environment, names[i], value, &error), 0);
    }
    assert_int_equal(environment.count, 7);
    assert_null(environment.entries[7]);
    assert_string_equal(environment_get(&environment, "AB"), "7");
    assert_string_equal(environment_get(&environment, "A"), "8");
    assert_string_equal(environment_get(&environment, "AB1"), "2");
    assert_string_equal(environment_get(&environment, "_"), "6");
    assert_null(environment_get(&environment, "ABCD"));
    assert_null(environment_get(&environment, ""));
    assert_int_equal(environment_set(&environment, "A=B", "", &error), -1);
    assert_int_equal(environment_set(&environment, "", "", &error), -1);
}

static void takes_thousands_in_any_order(void **state)
{
    environment_auto environment = {0}, copy = {0};
    struct rpc_error error = {0};
    char name[16], value[16];
    for (unsigned i = 0; i < 8000; i++) {
        snprintf(name, sizeof name, "V%u", i * 7919 % 8000);
        snprintf(value, sizeof value, "%u", i);
        assert_int_equal(environment_set(&environment, name, value, &error), 0);
    }
    assert_int_equal(environment_merge(&copy, &environment, &error), 0);
    assert_int_equal(copy.count, 8000);
    assert_int_equal(copy.bytes, environment.bytes);
    for (unsigned i = 0; i < 8000; i++) {
        snprintf(name, sizeof name, "V%u", i * 7919 % 8000);
        snprintf(value, sizeof value, "%u", i);
        assert_string_equal(environment_get(&copy, name), value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_last_value_of_each_name),
        cmocka_unit_test(takes_thousands_in_any_order),
    };
    return run_tests(tests);
}
