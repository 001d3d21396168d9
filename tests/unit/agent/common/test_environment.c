/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "agent/common/environment.h"
#include "base/mem.h"

TEST(keeps_the_last_value_of_each_name)
{
    environment_auto environment = {0};
    struct rpc_error error = {0};
    static const char *const names[] = {"AB", "A", "AB1", "ABC", "B", "A1", "_", "AB", "A"};
    static const char *const kept[] = {"A1=5", "A=8", "AB1=2", "AB=7", "ABC=3", "B=4", "_=6"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char value[2] = {(char)('0' + i), '\0'};
        assert_int_equal(environment_set(&environment, names[i], value, &error), 0);
    }
    assert_int_equal(environment.count, ARRAY_SIZE(kept));
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        assert_string_equal(environment.entries[i], kept[i]);
    assert_null(environment.entries[ARRAY_SIZE(kept)]);
    assert_int_equal(environment_set(&environment, "A=B", "", &error), -1);
    assert_int_equal(environment_set(&environment, "", "", &error), -1);
}

TEST(takes_thousands_in_any_order)
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
        unsigned number, set;
        assert_int_equal(sscanf(copy.entries[i], "V%u=%u", &number, &set), 2);
        assert_int_equal(number, set * 7919 % 8000);
        assert_true(!i || strcmp(copy.entries[i - 1], copy.entries[i]) < 0);
    }
}
