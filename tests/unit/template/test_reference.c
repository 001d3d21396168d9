/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <stdio.h>

#include "base/mem.h"
#include "runtime/runtime.h"
#include "template/template_reference.h"

#define ULID "01m7ybg8fg50ehpwezf9kz59ky"

static struct template_reference reference;

TEST(slug)
{
    assert_int_equal(template_reference_parse("python", &reference), 0);
    assert_int_equal(reference.kind, REFERENCE_SLUG);
    assert_string_equal(reference.slug, "python");
}

TEST(slug_and_version)
{
    assert_int_equal(template_reference_parse("python:12", &reference), 0);
    assert_int_equal(reference.kind, REFERENCE_SLUG_NUMBER);
    assert_string_equal(reference.slug, "python");
    assert_int_equal(reference.number, 12);
    assert_int_equal(template_reference_parse("python:tpv_" ULID, &reference), 0);
    assert_int_equal(reference.kind, REFERENCE_SLUG_ID);
    assert_string_equal(reference.slug, "python");
    assert_string_equal(reference.id, "tpv_" ULID);
}

TEST(slug_and_tag)
{
    static const char *const tags[] = {"default", "v1.0", "2026-11-21", "a_b"};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        char text[80];
        snprintf(text, sizeof text, "python:%s", tags[i]);
        assert_int_equal(template_reference_parse(text, &reference), 0);
        assert_int_equal(reference.kind, REFERENCE_SLUG_TAG);
        assert_string_equal(reference.slug, "python");
        assert_string_equal(reference.tag, tags[i]);
    }
}

TEST(team_and_slug)
{
    assert_int_equal(template_reference_parse("acme/python", &reference), 0);
    assert_int_equal(reference.kind, REFERENCE_SLUG);
    assert_string_equal(reference.team, "acme");
    assert_string_equal(reference.slug, "python");
    assert_int_equal(template_reference_parse("acme/python:stable", &reference), 0);
    assert_int_equal(reference.kind, REFERENCE_SLUG_TAG);
    assert_string_equal(reference.team, "acme");
    assert_string_equal(reference.tag, "stable");
    assert_int_equal(template_reference_parse("python", &reference), 0);
    assert_string_equal(reference.team, "");
}

TEST(ids)
{
    assert_int_equal(template_reference_parse("tpl_" ULID, &reference), 0);
    assert_int_equal(reference.kind, REFERENCE_TEMPLATE);
    assert_string_equal(reference.id, "tpl_" ULID);
    assert_int_equal(template_reference_parse("tpv_" ULID, &reference), 0);
    assert_int_equal(reference.kind, REFERENCE_VERSION);
}

TEST(other_forms)
{
    static const char *const bad[] = {
        "",
        ":",
        ":1",
        "python:",
        "python:-1",
        "python:1:2",
        "Python",
        "py thon",
        "tpl_short",
        "ckp_" ULID,
        "python:tpl_" ULID,
        "tpl_" ULID ":1",
        "python:tpv_",
        "python:Stable",
        "python:-a",
        "python:.a",
        "python:a/b",
        "python:a b",
        "python:a:b",
        "python:"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "/python",
        "acme/",
        "acme/python/x",
        "Acme/python",
        "acme/tpl_" ULID,
        "1234567890123456789012345678901234567890123456789012345678901234567890",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (template_reference_parse(bad[i], &reference) == 0)
            fail_msg("'%s' was taken", bad[i]);
}

/* Numbers that no version can have are names of tags. */
TEST(tags_of_digits)
{
    static const char *const good[] = {"0", "01", "99999999999"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        autofree char *text = xasprintf("python:%s", good[i]);
        assert_int_equal(template_reference_parse(text, &reference), 0);
        assert_int_equal(reference.kind, REFERENCE_SLUG_TAG);
        assert_string_equal(reference.tag, good[i]);
    }
}

TEST(name_of_the_source)
{
    char name[64];
    runtime_source_name("tpv_" ULID, name);
    assert_string_equal(name, "tpl-" ULID);
}
