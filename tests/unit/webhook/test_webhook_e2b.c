/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "webhook/webhook_e2b.h"

static const char every_type[] = "sandbox.started,sandbox.paused,sandbox.stopped,sandbox.resumed,"
                                 "sandbox.updated,sandbox.deleted";

static const char *narrowed(struct event_filter *filter, char text[EVENT_KINDS_BYTES])
{
    return webhook_e2b_narrow(filter) ? event_kinds_text(filter, text) : "none";
}

TEST(test_a_filter_for_every_kind_gets_those_with_a_type)
{
    struct event_filter filter = {0};
    char text[EVENT_KINDS_BYTES];
    assert_string_equal(narrowed(&filter, text), every_type);
    assert_string_equal(narrowed(&filter, text), every_type);
}

TEST(test_kinds_without_a_type_are_left_out)
{
    struct event_filter filter = {0};
    char text[EVENT_KINDS_BYTES];
    filter.kinds[EVENT_SANDBOX_PAUSED] = filter.kinds[EVENT_QUOTA_NEAR] = true;
    assert_string_equal(narrowed(&filter, text), "sandbox.paused");
}

TEST(test_a_filter_of_such_kinds_alone_gets_nothing)
{
    struct event_filter filter = {0};
    char text[EVENT_KINDS_BYTES];
    filter.kinds[EVENT_SANDBOX_DIED] = filter.kinds[EVENT_MEMBER_ADDED] = true;
    assert_string_equal(narrowed(&filter, text), "none");
}

TEST(test_an_unknown_kind_names_the_one_that_is_meant)
{
    error_auto err = NULL;
    enum event_kind kind;
    assert_int_equal(event_kind_read("sandbox.paused", "kind", &kind, &err), 0);
    assert_int_equal(kind, EVENT_SANDBOX_PAUSED);
    assert_int_equal(event_kind_read("sandbox.pause", "kind", &kind, &err), -1);
    assert_int_equal(err->code, ERR_INVALID_REQUEST);
    assert_string_equal(err->field, "kind");
    assert_non_null(strstr(err->message, "did you mean \"sandbox.paused\"?"));
    error_clear(&err);
    assert_int_equal(event_kind_read("x", "/kinds/0", &kind, &err), -1);
    assert_string_equal(err->field, "/kinds/0");
    assert_non_null(strstr(err->message, "an example is sandbox.paused"));
}
