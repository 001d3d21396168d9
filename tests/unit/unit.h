/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every unit test includes first: cmocka, our errors, and files that clean up. */
#pragma once

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* Most tests do not need their state. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The call succeeds; its error is shown when it does not. */
#define assert_ok(call)                                                                     \
    do {                                                                                    \
        int result_ = (call);                                                               \
        if (result_ != 0 || err)                                                            \
            fail_msg("%s: %d, %s: %s", #call, result_, err ? error_symbol(err->code) : "-", \
                     err ? err->message : "no error was set");                              \
    } while (0)

/* The call fails with this code; its message stays in err for the caller, who clears it. */
#define assert_fails(call, expected)                                             \
    do {                                                                         \
        int result_ = (call);                                                    \
        if (result_ != -1 || !err)                                               \
            fail_msg("%s: %d without an error", #call, result_);                 \
        else if (err->code != (expected))                                        \
            fail_msg("%s: %s instead of %s: %s", #call, error_symbol(err->code), \
                     error_symbol(expected), err->message);                      \
    } while (0)

/* assert_fails(), the message contains text, and err is cleared. */
#define assert_fails_saying(call, expected, text)                                    \
    do {                                                                             \
        assert_fails(call, expected);                                                \
        if (!strstr(err->message, (text)))                                           \
            fail_msg("%s: \"%s\" does not say \"%s\"", #call, err->message, (text)); \
        error_clear(&err);                                                           \
    } while (0)

/* Define a test: TEST(name) { ... }. main() in unit.c runs the tests in the order of the file. */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* Define a test that runs between a set-up and a tear-down of its own; either may be NULL. */
#define TEST_WITH(name, setup, teardown) \
    static void name(void **state);      \
    LIST_TEST(name, setup, teardown)     \
    static void name(void **state)

/* List a test that another file defines. */
#define LIST_TEST(name, setup, teardown)                                                       \
    __attribute__((constructor)) static void list_##name(void)                                 \
    {                                                                                          \
        const struct CMUnitTest test = cmocka_unit_test_setup_teardown(name, setup, teardown); \
        unit_list(__FILE__, &test);                                                            \
    }

/* Set up before the first test of the file, and tear down after the last; either may be NULL. */
#define TEST_GROUP(setup, teardown)                            \
    __attribute__((constructor)) static void group_tests(void) \
    {                                                          \
        unit_group(setup, teardown);                           \
    }

void unit_list(const char *file, const struct CMUnitTest *test);
void unit_group(CMFixtureFunction setup, CMFixtureFunction teardown);
