/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/cleanup.h"
#include "ctl/debian_version.h"
#include "ctl/holes.h"

/* --- versions --- */

TEST(compares_as_dpkg_does)
{
    /* Each is older than the next. */
    static const char *const ascending[] = {
        "0.10.6-0+deb12u2",
        "0.10.6-0+deb12u3",
        "0.11.5-0+deb13u1",
        "1.22.1-9+deb12u9",
        "1.22.1-9+deb12u11",
        "1.26.3-3",
        "1.26.3-3+b1",
        "1.26.3-3.1",
        "6.0.4-2+deb13u7~bpo12+1",
        "6.0.4-2+deb13u7",
        "6.0.4-2+deb13u12",
        "6.1.170-1",
        "6.12.95-1~bpo12+1",
        "6.12.95-1",
        "6.12.118-1",
        "7.0.2~rc1-1",
        "7.0.2-3",
        "1:5.0.2-1+deb12u4",
        "1:6.0.4-4+deb13u3",
        "10:0-1",
    };
    for (size_t i = 0; i < sizeof ascending / sizeof *ascending; i++)
        for (size_t j = 0; j < sizeof ascending / sizeof *ascending; j++) {
            int order = debian_version_compare(ascending[i], ascending[j]);
            if (i < j ? order >= 0 : i == j ? order != 0 : order <= 0)
                fail_msg("%s against %s: %d", ascending[i], ascending[j], order);
        }
    assert_int_equal(debian_version_compare("1.0", "1.00"), 0);
    assert_int_equal(debian_version_compare("0:1.0-1", "1.0-1"), 0);
    assert_int_equal(debian_version_compare("1.0", "1.0-0"), 0);
}

/* --- verdicts --- */

TEST(judges_by_the_rows_of_the_release)
{
    holes_auto holes = {0};
    struct hole one = {"nginx", "bookworm", "1-1+deb12u3", "CVE-2026-1 CVE-2026-2", "first"};
    struct hole two = {"nginx", "bookworm", "1-1+deb12u10", "CVE-2026-3", "second"};
    struct hole other = {"nginx", "trixie", "2-1+deb13u1", "CVE-2026-1", "first"};
    assert_int_equal(holes_add(&holes, &two), 0);
    assert_int_equal(holes_add(&holes, &one), 0);
    assert_int_equal(holes_add(&holes, &other), 0);
    struct hole_verdict verdict = holes_judge(&holes, "nginx", "1-1+deb12u2", "bookworm");
    assert_true(verdict.is_known);
    assert_int_equal(verdict.count, 3);
    assert_string_equal(verdict.newest->fixed, "1-1+deb12u10");
    verdict = holes_judge(&holes, "nginx", "1-1+deb12u9", "bookworm");
    assert_int_equal(verdict.count, 1);
    verdict = holes_judge(&holes, "nginx", "1-1+deb12u10", "bookworm");
    assert_int_equal(verdict.count, 0);
    assert_null(verdict.newest);
    assert_true(verdict.is_known);
    verdict = holes_judge(&holes, "nginx", "1-1", "forky");
    assert_false(verdict.is_known);
    assert_null(verdict.newest);
}

/* A kernel of bookworm-backports is newer than each good version of bookworm's own. */
TEST(counts_a_backport_as_the_version_it_was_made_from)
{
    holes_auto holes = {0};
    holes_built_in(&holes);
    struct hole_verdict verdict = holes_judge(&holes, "linux", "6.12.74-2~bpo12+1", "bookworm");
    assert_string_equal(verdict.release, "trixie");
    assert_non_null(verdict.newest);
    verdict = holes_judge(&holes, "linux", "6.12.90-1~bpo12+1", "bookworm");
    assert_null(verdict.newest);
    verdict = holes_judge(&holes, "incus", "6.0.4-2+deb13u7~bpo12+1", "bookworm");
    assert_non_null(verdict.newest);
    verdict = holes_judge(&holes, "incus", "7.0.2-3~bpo13+1", "trixie");
    assert_string_equal(verdict.release, "forky");
    assert_false(verdict.is_known);
}

/* --- the file --- */

static FILE *text_file(const char *text)
{
    FILE *file = fmemopen((char *)text, strlen(text), "r");
    assert_non_null(file);
    return file;
}

TEST(reads_what_it_writes)
{
    error_auto err = NULL;
    holes_auto holes = {0}, again = {0};
    holes_built_in(&holes);
    autofclose FILE *file = tmpfile();
    assert_non_null(file);
    holes_write(&holes, file);
    rewind(file);
    assert_int_equal(holes_read(file, &again, &err), 0);
    assert_int_equal(again.count, holes.count);
    for (size_t i = 0; i < holes.count; i++) {
        assert_string_equal(again.rows[i].fixed, holes.rows[i].fixed);
        assert_string_equal(again.rows[i].names, holes.rows[i].names);
        assert_string_equal(again.rows[i].why, holes.rows[i].why);
    }
}

TEST(names_the_line_that_is_wrong)
{
    error_auto err = NULL;
    holes_auto holes = {0};
    autofclose FILE *file =
        text_file("# comment\n\nnginx bookworm 1-1 CVE-2026-1 why\nnginx trixie\n");
    assert_int_equal(holes_read(file, &holes, &err), -1);
    assert_non_null(strstr(err->message, "line 4"));
}

/* --- the tracker --- */

TEST(takes_the_rows_of_the_tracker)
{
    error_auto err = NULL;
    holes_auto holes = {0};
    struct hole kernel = {"linux", "trixie", "6.12.1-1", "CVE-2026-31431", "by AF_ALG"};
    assert_int_equal(holes_add(&holes, &kernel), 0);
    autofclose FILE *file = text_file(
        "{\"zsh\": {\"CVE-2026-9\": {\"releases\": {\"trixie\": {\"fixed_version\": \"9\"}}}},"
        " \"nginx\": {\"CVE-2026-1\": {\"description\": \"a \\\"}{\", \"releases\": {"
        "\"bookworm\": {\"status\": \"resolved\", \"fixed_version\": \"1-1+deb12u3\", \"urgency\": "
        "\"not yet assigned\"},"
        "\"trixie\": {\"status\": \"open\", \"urgency\": \"not yet assigned\"}}},"
        "\"CVE-2026-2\": {\"releases\": {\"bookworm\": {\"fixed_version\": \"1-1+deb12u3\", "
        "\"urgency\": \"low\"}}},"
        "\"CVE-2026-3\": {\"releases\": {\"bookworm\": {\"fixed_version\": \"0\", \"urgency\": "
        "\"low\"}}},"
        "\"CVE-2026-4\": {\"releases\": {\"bookworm\": {\"fixed_version\": \"7\", \"urgency\": "
        "\"unimportant\"}}},"
        "\"CVE-2009-5\": {\"releases\": {\"bookworm\": {\"fixed_version\": \"7\", \"urgency\": "
        "\"low\"}}}},"
        " \"linux\": {\"CVE-2026-31431\": {\"releases\": {\"trixie\": {\"fixed_version\": "
        "\"6.12.85-1\"}}},"
        "\"CVE-2026-7\": {\"releases\": {\"trixie\": {\"fixed_version\": \"6.12.99-1\"}}}}}");
    assert_int_equal(holes_from_tracker(file, &holes, &err), 0);
    assert_int_equal(holes.count, 2);
    assert_string_equal(holes.rows[0].names, "CVE-2026-1 CVE-2026-2");
    assert_string_equal(holes.rows[0].fixed, "1-1+deb12u3");
    assert_string_equal(holes.rows[1].fixed, "6.12.85-1");
    assert_string_equal(holes.rows[1].why, "by AF_ALG");
}

TEST(keeps_its_rows_when_the_file_is_wrong)
{
    static const char *const wrong[] = {
        "{}",
        "{\"nginx\": {\"CVE-2026-1\": {",
        "{\"nginx\": {\"CVE-2026-1\" 5}}",
        "no JSON",
        "{\"nginx\": {\"CVE-2026-1\": {\"releases\": {\"bookworm\": {\"fixed_version\": \"1 "
        "2\"}}}}}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        error_auto err = NULL;
        holes_auto holes = {0};
        struct hole row = {"nginx", "bookworm", "1-1", "CVE-2026-1", "why"};
        assert_int_equal(holes_add(&holes, &row), 0);
        autofclose FILE *file = text_file(wrong[i]);
        assert_int_equal(holes_from_tracker(file, &holes, &err), -1);
        assert_int_equal(holes.count, 1);
        assert_string_equal(holes.rows[0].fixed, "1-1");
    }
}
