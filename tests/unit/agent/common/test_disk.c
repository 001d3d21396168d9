/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "agent/common/disk.h"
#include "base/mem.h"

static char group[] = "/tmp/sandlot-disk-XXXXXX";

static void write_number(const char *name, const char *text)
{
    autofree char *path = xasprintf("%s/%s", group, name);
    autofclose FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
}

static int set_up(void **state)
{
    return mkdtemp(group) ? 0 : -1;
}

static int tear_down(void **state)
{
    autofree char *command = xasprintf("rm -r %s", group);
    return system(command);
}

TEST(the_limit_in_force_counts)
{
    static const struct {
        const char *flags;
        uint64_t used, total;
    } cases[] = {{"1\n", 5200, 10000}, {"2\n", 4200, 8000}, {"3\n", 5200, 10000}};
    write_number("referenced", "5000\n");
    write_number("exclusive", "4000\n");
    write_number("max_referenced", "10000\n");
    write_number("max_exclusive", "8000\n");
    write_number("rsv_data", "200\n");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct disk_usage usage = {0, 0};
        write_number("limit_flags", cases[i].flags);
        assert_int_equal(disk_read_quota(group, &usage), 0);
        assert_int_equal(usage.used_bytes, cases[i].used);
        assert_int_equal(usage.total_bytes, cases[i].total);
    }
}

TEST(a_group_without_a_limit_says_nothing)
{
    struct disk_usage usage = {1, 2};
    write_number("limit_flags", "0\n");
    assert_int_equal(disk_read_quota(group, &usage), -1);
    assert_int_equal(disk_read_quota("/nonesuch", &usage), -1);
    assert_int_equal(usage.used_bytes, 1);
    assert_int_equal(usage.total_bytes, 2);
}

TEST(other_file_systems_tell_themselves)
{
    struct disk_usage usage;
    disk_measure(&usage);
    assert_true(usage.used_bytes > 0 && usage.used_bytes <= usage.total_bytes);
}

TEST_GROUP(set_up, tear_down)
