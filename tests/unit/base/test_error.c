/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <errno.h>

TEST(carries_code_and_message)
{
    error_auto err = NULL;
    assert_int_equal(error_set(&err, ERR_NOT_FOUND, "no sandbox %s", "sbx_1"), -1);
    assert_int_equal(err->code, ERR_NOT_FOUND);
    assert_string_equal(err->message, "no sandbox sbx_1");
    assert_null(err->field);
    assert_int_equal(err->retry_after_s, 0);
}

TEST(names_the_input_that_is_wrong)
{
    error_auto err = NULL;
    error_set_field(&err, ERR_INVALID_REQUEST, "/lifecycle/timeout", "must be at most %d", 5);
    assert_string_equal(err->field, "/lifecycle/timeout");
    assert_string_equal(err->message, "must be at most 5");
}

TEST(grows_context_on_the_way_up)
{
    error_auto err = NULL;
    error_set_errno(&err, ERR_CONFIG, ENOENT, "cannot open %s", "/a");
    assert_int_equal(error_context(&err, "key file %d", 2), -1);
    assert_string_equal(err->message, "key file 2: cannot open /a: No such file or directory");
    assert_int_equal(err->code, ERR_CONFIG);
}

TEST(changes_its_code)
{
    error_auto err = NULL;
    error_set(&err, ERR_DB_DUPLICATE, "the name is there");
    assert_int_equal(error_recode(&err, ERR_NAME_TAKEN), -1);
    assert_int_equal(err->code, ERR_NAME_TAKEN);
    assert_string_equal(err->message, "the name is there");
}

TEST(moves_and_clears)
{
    error_auto inner = NULL;
    error_auto outer = NULL;
    error_set(&inner, ERR_INTERNAL, "x");
    assert_int_equal(error_move(&outer, &inner), -1);
    assert_null(inner);
    assert_string_equal(outer->message, "x");
    assert_false(error_clear_if(&outer, ERR_NOT_FOUND));
    assert_true(error_clear_if(&outer, ERR_INTERNAL));
    assert_null(outer);
    assert_false(error_clear_if(&outer, ERR_INTERNAL));
    error_clear(&outer);
}

TEST(details_travel_with_it)
{
    struct error *inner = NULL, *outer = NULL;
    error_set(&inner, ERR_NO_CAPACITY, "full");
    assert_int_equal(error_add_detail(&inner, "hosts", json_integer(3)), -1);
    error_add_detail(&inner, "free", json_integer(0));
    error_move(&outer, &inner);
    error_context(&outer, "create");
    assert_int_equal(json_integer_value(json_object_get(outer->details, "hosts")), 3);
    assert_int_equal(json_object_size(outer->details), 2);
    error_clear(&outer);
}

TEST(every_code_has_a_decent_answer)
{
    for (int code = 0; code < ERROR_CODE_COUNT; code++) {
        int status = error_http_status((enum error_code)code);
        assert_in_range(status, 400, 599);
        assert_true(strncmp(error_symbol((enum error_code)code), "ERR_", 4) == 0);
        const char *api = error_api_code((enum error_code)code);
        assert_int_equal(strspn(api, "abcdefghijklmnopqrstuvwxyz_"), strlen(api));
    }
    assert_int_equal(error_http_status(ERR_RATE_LIMITED), 429);
}
