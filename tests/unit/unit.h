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

/* cmocka_run_group_tests() with a name that the TAP output carries. */
#undef run_tests /* an older interface of cmocka */
#define run_tests(tests) cmocka_run_group_tests_name(__FILE__, (tests), NULL, NULL)
