/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is read of the control groups of containers, of both kinds. */
#include "unit/folder.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "common/group_usage.h"

static int in_empty_folder(void **state)
{
    return system("find . -mindepth 1 -delete") == 0 ? 0 : -1; /* NOLINT(cert-env33-c) */
}

static void write_in(const char *parent, const char *group, const char *name, const char *text)
{
    autofree char *at = xasprintf("%s/%s", parent, group);
    autofree char *path = xasprintf("%s/%s", at, name);
    mkdir(parent, 0755);
    mkdir(at, 0755);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make_unified(const char *group)
{
    write_in(".", group, "cpu.stat", "usage_usec 2500999\nuser_usec 1\n");
    write_in(".", group, "memory.current", "10485760\n");
    write_in(".", group, "memory.stat", "anon 8388608\nfile_mapped 7\nfile 2097152\n");
    write_in(".", group, "memory.events", "oom 9\noom_kill 3\noom_group_kill 1\n");
}

TEST_WITH(one_hierarchy_is_read, in_empty_folder, NULL)
{
    struct group_usage list[GROUP_USAGE_PAGE];
    char next[GROUP_USAGE_NAME_SIZE];
    write_in(".", ".", "cgroup.controllers", "cpu memory\n");
    make_unified("lxc.payload.my_project_sbx-b");
    make_unified("lxc.payload.sbx-a");
    make_unified("lxc.monitor.sbx-c");
    write_in(".", "lxc.payload.sbx-ends", "cpu.stat", "usage_usec 1\n");
    assert_int_equal(group_usage_read(".", "", list, next), 2);
    assert_string_equal(next, "");
    assert_string_equal(list[0].name, "sbx-a");
    assert_string_equal(list[1].name, "sbx-b");
    assert_int_equal(list[1].cpu_ms, 2500);
    assert_int_equal(list[1].memory_bytes, 8388608);
    assert_int_equal(list[1].cache_bytes, 2097152);
    assert_int_equal(list[1].memory_kills, 3);
    assert_int_equal(group_usage_read(".", "sbx-a", list, next), 1);
    assert_int_equal(group_usage_read(".", "sbx-b", list, next), 0);
}

TEST_WITH(a_hierarchy_for_each_controller_is_read, in_empty_folder, NULL)
{
    struct group_usage list[GROUP_USAGE_PAGE];
    char next[GROUP_USAGE_NAME_SIZE];
    write_in("cpuacct", "lxc.payload.sandlot_warm-a", "cpuacct.usage", "1999999999\n");
    write_in("memory", "lxc.payload.sandlot_warm-a", "memory.usage_in_bytes", "4096\n");
    write_in("memory", "lxc.payload.sandlot_warm-a", "memory.stat", "cache 1\ntotal_cache 8192\n");
    write_in("memory", "lxc.payload.sandlot_warm-a", "memory.oom_control",
             "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    assert_int_equal(group_usage_read(".", "", list, next), 1);
    assert_int_equal(list[0].cpu_ms, 1999);
    assert_int_equal(list[0].memory_bytes, 0);
    assert_int_equal(list[0].cache_bytes, 8192);
    assert_int_equal(list[0].memory_kills, 1);
}

TEST_WITH(a_long_list_has_parts, in_empty_folder, NULL)
{
    struct group_usage list[GROUP_USAGE_PAGE];
    char next[GROUP_USAGE_NAME_SIZE];
    write_in(".", ".", "cgroup.controllers", "cpu memory\n");
    for (unsigned i = 0; i < GROUP_USAGE_PAGE + 5; i++) {
        autofree char *group = xasprintf("lxc.payload.p_sbx-%03u", i);
        make_unified(group);
    }
    assert_int_equal(group_usage_read(".", "", list, next), GROUP_USAGE_PAGE);
    assert_string_equal(next, list[GROUP_USAGE_PAGE - 1].name);
    autofree char *after = xstrdup(next);
    assert_int_equal(group_usage_read(".", after, list, next), 5);
    assert_string_equal(list[0].name, "sbx-064");
    assert_string_equal(next, "");
}

TEST(no_groups_are_no_list)
{
    struct group_usage list[GROUP_USAGE_PAGE];
    char next[GROUP_USAGE_NAME_SIZE];
    assert_int_equal(group_usage_read("missing", "", list, next), 0);
    assert_string_equal(next, "");
}

TEST_GROUP(make_folder, remove_folder)
