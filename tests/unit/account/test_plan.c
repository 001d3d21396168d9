/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <string.h>

#include "account/plan.h"

TEST(reads_cpu_values)
{
    uint32_t values[16];
    unsigned count;
    assert_int_equal(plan_parse_cpus("1,2,4", values, &count), 0);
    assert_int_equal(count, 3);
    assert_int_equal(values[2], 4);
    assert_int_equal(plan_parse_cpus("8", values, &count), 0);
    assert_int_equal(count, 1);
}

TEST(refuses_malformed_cpu_values)
{
    static const char *const bad[] = {
        "",    "0",   "1,",   ",1",       "1,,2",
        "2,1", "1,1", "1, 2", "1025",     "01",
        "a",   "-1",  "1.5",  "99999999", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"};
    uint32_t values[16];
    unsigned count;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (plan_parse_cpus(bad[i], values, &count) == 0)
            fail_msg("'%s' was taken", bad[i]);
}

TEST(checks_prices_and_currencies)
{
    assert_true(plan_price_is_valid("0"));
    assert_true(plan_price_is_valid("0.0504"));
    assert_true(plan_price_is_valid("12.5"));
    assert_false(plan_price_is_valid(""));
    assert_false(plan_price_is_valid("."));
    assert_false(plan_price_is_valid("1."));
    assert_false(plan_price_is_valid(".5"));
    assert_false(plan_price_is_valid("00.5"));
    assert_false(plan_price_is_valid("1,5"));
    assert_false(plan_price_is_valid("1.5.2"));
    assert_false(plan_price_is_valid("12345678901234567"));
    assert_true(plan_currency_is_valid("EUR"));
    assert_false(plan_currency_is_valid("eur"));
    assert_false(plan_currency_is_valid("EURO"));
}

TEST(values_of_a_plan_fit_together)
{
    struct error *err = NULL;
    struct plan plan = {.cpu_default = 1,
                        .cpu_values = {1, 2},
                        .cpu_value_count = 2,
                        .memory_mb_min = 256,
                        .memory_mb_default = 512,
                        .memory_mb_max = 2048};
    assert_ok(plan_check(&plan, &err));
    plan.cpu_default = 3;
    assert_fails_saying(plan_check(&plan, &err), ERR_INVALID_REQUEST, "cpu_default");
    plan.cpu_default = 2;
    plan.memory_mb_default = 4096;
    assert_fails_saying(plan_check(&plan, &err), ERR_INVALID_REQUEST, "memory_mb_default");
    plan.memory_mb_max = 128;
    assert_fails_saying(plan_check(&plan, &err), ERR_INVALID_REQUEST, "memory_mb_min");
}

TEST(allows_sizes)
{
    struct error *err = NULL;
    const struct plan plan = {.name = "pro",
                              .cpu_values = {1, 2, 4},
                              .cpu_value_count = 3,
                              .memory_mb_min = 256,
                              .memory_mb_max = 2048,
                              .memory_mb_increment = 256};
    assert_ok(plan_check_cpu(&plan, 4, "/cpu", &err));
    assert_fails(plan_check_cpu(&plan, 3, "/size/cpu", &err), ERR_INVALID_REQUEST);
    assert_string_equal(err->field, "/size/cpu");
    assert_non_null(strstr(err->message, "it allows 1, 2, 4."));
    error_clear(&err);
    assert_fails(plan_check_cpu(&plan, 0, "/cpu", &err), ERR_INVALID_REQUEST);
    error_clear(&err);
    assert_ok(plan_check_memory(&plan, 256, "/memory_mb", &err));
    assert_ok(plan_check_memory(&plan, 2048, "/memory_mb", &err));
    static const uint32_t bad[] = {0, 128, 255, 257, 2304};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_fails(plan_check_memory(&plan, bad[i], "/memory_mb", &err), ERR_INVALID_REQUEST);
        assert_string_equal(err->field, "/memory_mb");
        error_clear(&err);
    }
}

TEST(slugs)
{
    assert_true(slug_is_valid("a"));
    assert_true(slug_is_valid("acme-2"));
    assert_true(slug_is_valid("123456789012345678901234567890123456789012345678901234567890123"));
    assert_false(slug_is_valid("1234567890123456789012345678901234567890123456789012345678901234"));
    assert_false(slug_is_valid(""));
    assert_false(slug_is_valid("-a"));
    assert_false(slug_is_valid("a-"));
    assert_false(slug_is_valid("A"));
    assert_false(slug_is_valid("a_b"));
    assert_false(slug_is_valid("a b"));
}
