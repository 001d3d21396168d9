/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "volume/volume_mount.h"

static int read_mounts(const char *text, struct volume_mount mounts[VOLUME_MOUNTS_MAX],
                       unsigned *count, json_t **kept)
{
    struct error *err = NULL;
    *kept = json_loads(text, 0, NULL);
    assert_non_null(*kept);
    int result = volume_mounts_read(*kept, mounts, count, &err);
    if (result < 0) {
        assert_int_equal(err->code, ERR_INVALID_REQUEST);
        assert_non_null(err->field);
    }
    error_clear(&err);
    return result;
}

TEST(mounts_are_ordered_by_path)
{
    struct volume_mount mounts[VOLUME_MOUNTS_MAX];
    json_auto_t *kept = NULL;
    unsigned count;
    assert_int_equal(
        read_mounts("{\"/b\":\"one\",\"/a b\":\"two\",\"/ab\":\"one\"}", mounts, &count, &kept), 0);
    assert_int_equal(count, 3);
    assert_string_equal(mounts[0].path, "/a b");
    assert_string_equal(mounts[0].name, "two");
    assert_string_equal(mounts[2].path, "/b");
}

TEST(paths_that_are_refused)
{
    static const char *const bodies[] = {
        "{\"\":\"v\"}",
        "{\"a\":\"v\"}",
        "{\"/\":\"v\"}",
        "{\"/a/\":\"v\"}",
        "{\"//a\":\"v\"}",
        "{\"/a/..\":\"v\"}",
        "{\"/./a\":\"v\"}",
        "{\"/proc\":\"v\"}",
        "{\"/run/x\":\"v\"}",
        "{\"/usr\":\"v\"}",
        "{\"/a\\u0001b\":\"v\"}",
        "{\"/a\\nb\":\"v\"}",
        "{\"/a\":\"v\",\"/a/b\":\"w\"}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        struct volume_mount mounts[VOLUME_MOUNTS_MAX];
        json_auto_t *kept = NULL;
        unsigned count;
        assert_int_equal(read_mounts(bodies[i], mounts, &count, &kept), -1);
    }
}

TEST(names_of_volumes)
{
    assert_true(volume_name_is_valid("a"));
    assert_true(volume_name_is_valid("0-"));
    assert_false(volume_name_is_valid(""));
    assert_false(volume_name_is_valid("vol_data")); /* like an id */
    assert_false(volume_name_is_valid("-a"));
    assert_false(volume_name_is_valid("A"));
    assert_true(volume_name_is_valid("a_b"));
    assert_true(
        volume_name_is_valid("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
    assert_false(
        volume_name_is_valid("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}
