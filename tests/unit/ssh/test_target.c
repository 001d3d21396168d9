/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "ssh/session/target.h"

static struct target parsed(const char *text)
{
    struct error *err = NULL;
    struct target target;
    assert_ok(target_parse(text, &target, &err));
    return target;
}

TEST(new_ones)
{
    struct target target = parsed("new");
    assert_null(target.name);
    assert_false(target.may_exist || target.keep);
    target_deinit(&target);
    target = parsed("new-keep");
    assert_true(target.keep);
    assert_false(target.may_exist);
    target_deinit(&target);
    target = parsed("keep");
    assert_true(target.keep);
    assert_false(target.may_exist || target.name);
    target_deinit(&target);
    target = parsed("python+nodejs");
    assert_string_equal(target.name, "python-nodejs");
    assert_false(target.may_exist);
    target_deinit(&target);
    target = parsed("new+python");
    assert_string_equal(target.name, "python");
    target_deinit(&target);
}

TEST(options_and_metadata)
{
    struct target target =
        parsed("new+keep+timeout=30m+cpu=2+memory=2048+name=work+team=acme+a:b+c:d=e");
    assert_true(target.keep);
    assert_string_equal(target.timeout, "30m");
    assert_string_equal(target.cpu, "2");
    assert_string_equal(target.memory, "2048");
    assert_string_equal(target.label_name, "work");
    assert_string_equal(target.team, "acme");
    assert_int_equal(target.label_count, 2);
    assert_string_equal(target.labels[0], "a=b");
    target_deinit(&target);
}

TEST(terminals_that_are_there)
{
    static const char *const bad[] = {"new+attach",   "work+attach+keep",
                                      "attach=5",     "work+attach+name=x",
                                      "work+attach=", "work+attach=1+attach=2"};
    struct target target = parsed("work+attach");
    assert_true(target.attach && target.may_exist && target.must_exist);
    assert_string_equal(target.name, "work");
    assert_null(target.attach_process);
    target_deinit(&target);
    target = parsed("sbx_01kamqg0v5r8e1m4c2y7z9t3wn+attach=1234");
    assert_true(target.attach && target.must_exist);
    assert_string_equal(target.attach_process, "1234");
    target_deinit(&target);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        error_auto err = NULL;
        assert_int_equal(target_parse(bad[i], &target, &err), -1);
        target_deinit(&target);
    }
}

TEST(ones_that_are_there)
{
    struct target target = parsed("work");
    assert_true(target.may_exist);
    assert_false(target.must_exist);
    target_deinit(&target);
    target = parsed("sbx_01kamqg0v5r8e1m4c2y7z9t3wn");
    assert_true(target.may_exist && target.must_exist);
    target_deinit(&target);
}

TEST(what_means_nothing)
{
    static const char *const wrong[] = {
        "",     "+",         "new+",        "-o",         "new+-x",  "new+cpu=",
        "a b",  "new+x=1",   "new+cpu=-1",  "new+:value", "a/b",     "new+cpu=1+cpu=2",
        "\xff", "new+team=", "new++python", "$(x)",       "new+a;b",
    };
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct error *err = NULL;
        struct target target;
        assert_fails(target_parse(wrong[i], &target, &err), ERR_INVALID_REQUEST);
        error_clear(&err);
        target_deinit(&target);
    }
    char long_one[TARGET_MAX + 2];
    memset(long_one, 'x', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    struct error *err = NULL;
    struct target target;
    assert_fails_saying(target_parse(long_one, &target, &err), ERR_INVALID_REQUEST, "too long");
    target_deinit(&target);
}
