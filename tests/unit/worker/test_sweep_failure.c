/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "worker/sweep_failure.h"

static bool passes_over(enum error_code code, unsigned *failures)
{
    struct error *err = NULL;
    error_set(&err, code, "it failed");
    bool passes = sweep_passes_over(failures, "sbx-1", &err);
    if (passes)
        assert_null(err);
    else
        assert_fails_saying(-1, code, "it failed");
    return passes;
}

TEST(an_object_that_fails_does_not_end_a_sweep)
{
    unsigned failures = 0;
    assert_true(passes_over(ERR_RUNTIME_REFUSED, &failures));
    assert_int_equal(failures, 1);
    assert_true(passes_over(ERR_DB_DEADLOCK, &failures));
    assert_int_equal(failures, 2);
}

/* Its wait may be long. */
TEST(one_object_may_keep_a_sweep_waiting)
{
    unsigned failures = 0;
    assert_true(passes_over(ERR_RUNTIME_UNAVAILABLE, &failures));
    assert_true(failures >= SWEEP_FAILURES_MAX);
}

TEST(without_the_database_or_the_host_a_sweep_ends)
{
    static const enum error_code codes[] = {ERR_DB_UNAVAILABLE, ERR_DB_FULL, ERR_HOST_UNREACHABLE};
    unsigned failures = 0;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        assert_false(passes_over(codes[i], &failures));
}

TEST(a_sweep_begins_at_one_of_its_objects)
{
    assert_int_equal(sweep_first(0), 0);
    assert_int_equal(sweep_first(1), 0);
    for (unsigned i = 0; i < 100; i++)
        assert_true(sweep_first(3) < 3);
}

TEST(an_object_that_failed_rests)
{
    assert_false(sweep_rests("sbx-1"));
    sweep_rest("sbx-1");
    assert_true(sweep_rests("sbx-1"));
    assert_false(sweep_rests("sbx-2"));
    sweep_rest("sbx-1");
    assert_true(sweep_rests("sbx-1"));
}

TEST(the_newest_that_failed_are_known)
{
    char id[16];
    sweep_rest("sbx-first");
    for (unsigned i = 0; i < 512; i++) {
        snprintf(id, sizeof id, "sbx-%u", i);
        sweep_rest(id);
    }
    assert_true(sweep_rests("sbx-511"));
    assert_false(sweep_rests("sbx-first"));
}
