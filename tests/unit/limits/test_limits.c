/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which orders sandlot-limits takes, and what it writes for them into control groups of both kinds.
 */
#include "unit/folder.h"

#include <sys/stat.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/sizing.h"
#include "common/mount_note.h"
#include "limits/balance.h"
#include "limits/disk.h"
#include "limits/spread.h"

#define NAME  "warm-01m84zv6v7k928m8ea9wv1r61y"
#define GROUP "lxc.payload.sandlot_" NAME

static int in_empty_folder(void **state)
{
    return system("find . -mindepth 1 -delete") == 0 ? 0 : -1; /* NOLINT(cert-env33-c) */
}

static void assert_file(const char *path, const char *text)
{
    char found[256] = "";
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_true(fread(found, 1, sizeof found - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(found, text);
}

/* --- orders --- */

TEST(names_are_those_of_sandboxes)
{
    static const char *const others[] = {
        "",
        "warm-",
        "tpl-01m84zv6v7k928m8ea9wv1r61y",
        "warm-01m84zv6v7k928m8ea9wv1r61",
        "warm-01m84zv6v7k928m8ea9wv1r61yy",
        "warm-01m84zv6v7k928m8ea9wv1r61Y",
        "warm-../../../../../../../etc00",
        "sbx-01m84zv6v7k928m8ea9wv1r6/.",
    };
    assert_true(order_name_is_valid(NAME));
    assert_true(order_name_is_valid("sbx-01m84zv6v7k928m8ea9wv1r61y"));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_false(order_name_is_valid(others[i]));
}

#define VOLUME "vol-01m84zv6v7k928m8ea9wv1r61y"

TEST(an_order_may_name_the_tenant_alone)
{
    struct order order;
    error_auto err = NULL;
    assert_int_equal(order_read(NAME " tenant:17", &order, &err), 0);
    assert_string_equal(order.instance, NAME);
    assert_int_equal(order.tenant.team, 17);
    assert_int_equal(order.tenant.user, 0);
    assert_int_equal(order.cpu, 0);
    assert_int_equal(order_read(NAME " tenant:17:18", &order, &err), 0);
    assert_int_equal(order.tenant.team, 17);
    assert_int_equal(order.tenant.user, 18);
}

TEST(an_order_is_four_words_before_its_volumes)
{
    static const char *const others[] = {
        "",
        NAME,
        NAME " 1",
        NAME " 1 512",
        NAME " 1 512 0 0",
        NAME " tenant:",
        NAME " 1 tenant:17",
        NAME " tenant:17 " VOLUME ":/data",
        NAME " 1 512 0 ",
        NAME " 0 512 0",
        NAME " 4097 512 0",
        NAME " 1 15 0",
        NAME " -1 512 0",
        NAME " 01 512 0",
        NAME " 1 512 1048577",
        NAME "  1 512 0",
        "x 1 512 0",
    };
    struct order order;
    error_auto err = NULL;
    assert_int_equal(order_read(NAME " 2 1024 40", &order, &err), 0);
    assert_string_equal(order.instance, NAME);
    assert_int_equal(order.cpu, 2);
    assert_int_equal(order.memory_mb, 1024);
    assert_int_equal(order.disk_gb, 40);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        assert_int_equal(order_read(others[i], &order, &err), -1);
        assert_int_equal(err->code, ERR_INVALID_REQUEST);
        error_clear(&err);
    }
    autofree char *longer = xasprintf(NAME " 1 512 %0*d", SIZING_MAX, 0);
    assert_int_equal(order_read(longer, &order, &err), -1);
}

TEST(an_order_names_volumes_and_places)
{
    struct order order;
    error_auto err = NULL;
    assert_int_equal(order_read(NAME " 2 1024 0 " VOLUME ":/data " VOLUME ":/mnt/a%20b%25/%C3%A9:x",
                                &order, &err),
                     0);
    assert_int_equal(order.mount_count, 2);
    assert_string_equal(order.mounts[0].volume, VOLUME);
    assert_string_equal(order.mounts[0].path, "/data");
    assert_string_equal(order.mounts[1].path, "/mnt/a b%/\xc3\xa9:x");
    assert_int_equal(order.tenant.team, 0);
    assert_int_equal(order_read(NAME " 2 1024 0 tenant:17 " VOLUME ":/data", &order, &err), 0);
    assert_int_equal(order.tenant.team, 17);
    assert_int_equal(order.mount_count, 1);
}

TEST(what_is_no_volume_and_place_is_refused)
{
    static const char *const others[] = {
        "",
        "/data",
        VOLUME,
        VOLUME ":",
        VOLUME ":/",
        VOLUME ":data",
        VOLUME ":/data/",
        VOLUME "://data",
        VOLUME ":/a/./b",
        VOLUME ":/..",
        VOLUME ":/a/../../b",
        VOLUME ":/a%2F..%2Fb",
        VOLUME ":/a%0Ab",
        VOLUME ":/a%00b",
        VOLUME ":/a%ffb",
        VOLUME ":/a%2",
        VOLUME ":/a  " VOLUME ":/b",
        "vol-../../../../../../../../x:/a",
        NAME ":/a",
        "tenant:",
        "tenant:0",
        "tenant:x",
        "tenant:1:",
        "tenant:1:0",
        "tenant:1:2:3",
        "tenant:1 tenant:2",
        VOLUME ":/a tenant:1",
    };
    struct order order;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        autofree char *line = xasprintf(NAME " 1 512 0 %s", others[i]);
        error_auto err = NULL;
        assert_int_equal(order_read(line, &order, &err), -1);
        assert_int_equal(err->code, ERR_INVALID_REQUEST);
    }
}

TEST(an_order_has_a_bound_of_volumes)
{
    buffer_auto line = BUFFER_INIT(SIZING_MAX);
    struct order order;
    error_auto err = NULL;
    buffer_append_string(&line, NAME " 1 512 0");
    for (unsigned i = 0; i < ORDER_MOUNTS_MAX; i++)
        buffer_append_string(&line, " " VOLUME ":/a");
    assert_int_equal(order_read(buffer_string(&line), &order, &err), 0);
    assert_int_equal(order.mount_count, ORDER_MOUNTS_MAX);
    buffer_append_string(&line, " " VOLUME ":/a");
    assert_int_equal(order_read(buffer_string(&line), &order, &err), -1);
}

/* --- processors --- */

/* used: a set that other containers use. */
static void assert_chosen(const char *own, const char *there, unsigned wanted, const char *used,
                          const char *expected)
{
    struct cpu_uses uses = {.of = {0}};
    struct cpus mine, all, others;
    char text[CPUS_TEXT_SIZE];
    error_auto err = NULL;
    assert_int_equal(cpus_read(own, &mine, &err), 0);
    assert_int_equal(cpus_read(there, &all, &err), 0);
    assert_int_equal(cpus_read(used, &others, &err), 0);
    cpus_use(&others, &uses, 1);
    cpus_choose(&mine, &all, wanted, &uses);
    cpus_write(&mine, text);
    assert_string_equal(text, expected);
}

TEST(processors_are_chosen_among_those_that_are_there)
{
    assert_chosen("3", "0-7", 1, "", "3");
    assert_chosen("3", "0-7", 1, "0-2", "3");
    assert_chosen("3", "0-7", 1, "3", "0");
    assert_chosen("3", "0-3", 1, "0-3", "3");
    assert_chosen("3", "0-7", 3, "0-5", "3,6,7");
    assert_chosen("0-5", "0-7", 2, "0,1", "2,3");
    assert_chosen("3", "0-1", 8, "0", "0,1");
    assert_chosen("", "0-3,4095", 2, "1-3", "0,4095");
    assert_chosen("", "", 2, "", "");
}

TEST(what_is_no_set_of_processors_is_refused)
{
    static const char *const others[] = {"x", "1-", "3-1", "1 2", "4096", "0-99999999999", "1,,2"};
    struct cpus cpus;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        error_auto err = NULL;
        assert_int_equal(cpus_read(others[i], &cpus, &err), -1);
    }
}

/* --- control groups --- */

static void make_unified(void)
{
    write_file("cgroup.controllers", "cpuset cpu memory\n");
    write_file("cpuset.cpus.effective", "0-3\n");
    assert_int_equal(mkdir(GROUP, 0755), 0);
    write_file(GROUP "/cpuset.cpus", "1\n");
    write_file(GROUP "/cpu.weight", "30\n");
    write_file(GROUP "/cpu.stat", "usage_usec 5000\nuser_usec 4000\n");
    write_file(GROUP "/memory.current", "4096\n");
    write_file(GROUP "/memory.max", "536870912\n");
    write_file(GROUP "/memory.high", "483180544\n");
    write_file(GROUP "/memory.swap.max", "0\n");
}

static void make_single(void)
{
    static const char *const controllers[] = {"cpuset", "cpu", "cpuacct", "memory"};
    for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
        autofree char *path = xasprintf("%s/" GROUP, controllers[i]);
        assert_int_equal(mkdir(controllers[i], 0755), 0);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    write_file("cpuset/cpuset.effective_cpus", "0-1\n");
    write_file("cpuset/" GROUP "/cpuset.cpus", "0\n");
    write_file("cpu/" GROUP "/cpu.shares", "256\n");
    write_file("cpuacct/" GROUP "/cpuacct.usage", "5000000\n");
    write_file("memory/" GROUP "/memory.usage_in_bytes", "4096\n");
    write_file("memory/" GROUP "/memory.limit_in_bytes", "536870912\n");
    write_file("memory/" GROUP "/memory.memsw.limit_in_bytes", "536870912\n");
    write_file("memory/" GROUP "/memory.soft_limit_in_bytes", "483180544\n");
}

/* Make another instance of one processor. */
static void add_unified(const char *instance, const char *cpus, const char *weight)
{
    autofree char *group = xasprintf("lxc.payload.sandlot_%s", instance);
    autofree char *own = xasprintf("%s/cpuset.cpus", group);
    autofree char *of = xasprintf("%s/cpu.weight", group);
    assert_int_equal(mkdir(group, 0755), 0);
    write_file(own, cpus);
    write_file(of, weight);
}

static int size(const char *project, const struct order *order, struct error **err)
{
    struct groups groups;
    assert_int_equal(groups_open(&groups, folder, project, err), 0);
    int result = groups_size(&groups, order, err);
    groups_close(&groups);
    return result;
}

TEST_WITH(limits_are_set_in_one_hierarchy, in_empty_folder, NULL)
{
    const struct order order = {.instance = NAME, .cpu = 2, .memory_mb = 1024};
    error_auto err = NULL;
    make_unified();
    assert_int_equal(size("sandlot", &order, &err), 0);
    assert_file(GROUP "/memory.max", "1073741824");
    assert_file(GROUP "/memory.high", "966367641");
    assert_file(GROUP "/memory.swap.max", "0\n");
    assert_file(GROUP "/cpu.weight", "50");
    struct cpus cpus;
    char text[16] = "";
    FILE *file = fopen(GROUP "/cpuset.cpus", "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(cpus_read(text, &cpus, &err), 0);
    assert_int_equal(cpus_count(&cpus), 2);
    assert_true(cpus.words[0] >> 1 & 1);
}

TEST_WITH(limits_are_set_in_one_for_each_controller, in_empty_folder, NULL)
{
    const struct order larger = {.instance = NAME, .cpu = 8, .memory_mb = 1024};
    const struct order smaller = {.instance = NAME, .cpu = 1, .memory_mb = 256};
    error_auto err = NULL;
    make_single();
    assert_int_equal(size("sandlot", &larger, &err), 0);
    assert_file("memory/" GROUP "/memory.limit_in_bytes", "1073741824");
    assert_file("memory/" GROUP "/memory.memsw.limit_in_bytes", "1073741824");
    assert_file("memory/" GROUP "/memory.soft_limit_in_bytes", "966367641");
    assert_file("cpu/" GROUP "/cpu.shares", "2048");
    assert_file("cpuset/" GROUP "/cpuset.cpus", "0,1");
    assert_int_equal(size("sandlot", &smaller, &err), 0);
    assert_file("memory/" GROUP "/memory.limit_in_bytes", "268435456");
    assert_file("memory/" GROUP "/memory.memsw.limit_in_bytes", "268435456");
    assert_file("cpu/" GROUP "/cpu.shares", "256");
    assert_file("cpuset/" GROUP "/cpuset.cpus", "0");
}

TEST_WITH(more_memory_than_the_limit_is_left_alone, in_empty_folder, NULL)
{
    const struct order order = {.instance = NAME, .cpu = 2, .memory_mb = 128};
    error_auto err = NULL;
    make_unified();
    write_file(GROUP "/memory.current", "134217729\n");
    assert_int_equal(size("sandlot", &order, &err), -1);
    assert_int_equal(err->code, ERR_RUNTIME_REFUSED);
    assert_file(GROUP "/memory.max", "536870912\n");
    assert_file(GROUP "/cpu.weight", "30\n");
}

TEST_WITH(another_projects_instance_is_none, in_empty_folder, NULL)
{
    const struct order order = {.instance = NAME, .cpu = 2, .memory_mb = 1024};
    error_auto err = NULL;
    make_unified();
    assert_int_equal(size("other", &order, &err), -1);
    assert_int_equal(err->code, ERR_NOT_FOUND);
    error_clear(&err);
    assert_int_equal(size("default", &order, &err), -1);
}

TEST_WITH(a_link_is_not_followed, in_empty_folder, NULL)
{
    const struct order order = {.instance = NAME, .cpu = 2, .memory_mb = 1024};
    error_auto err = NULL;
    make_unified();
    assert_int_equal(rename(GROUP, "elsewhere"), 0);
    assert_int_equal(symlink("elsewhere", GROUP), 0);
    assert_int_equal(size("sandlot", &order, &err), -1);
    error_clear(&err);
    assert_int_equal(unlink(GROUP), 0);
    assert_int_equal(rename("elsewhere", GROUP), 0);
    assert_int_equal(rename(GROUP "/memory.max", "file"), 0);
    assert_int_equal(symlink("../file", GROUP "/memory.max"), 0);
    assert_int_equal(size("sandlot", &order, &err), -1);
    assert_file("file", "536870912\n");
}

/* --- weights --- */

static void assert_weighed(const char *file, double weight, const char *text)
{
    struct groups groups;
    struct group_use use;
    error_auto err = NULL;
    assert_int_equal(groups_open(&groups, folder, "sandlot", &err), 0);
    assert_int_equal(groups_use(&groups, NAME, &use, &err), 0);
    assert_int_equal(use.used_us, 5000);
    assert_int_equal(use.cpus, 1);
    assert_int_equal(groups_weigh(&groups, NAME, weight, &err), 0);
    assert_file(file, text);
    assert_int_equal(groups_use(&groups, "sbx-01m84zv6v7k928m8ea9wv1r61y", &use, &err), -1);
    assert_int_equal(err->code, ERR_NOT_FOUND);
    groups_close(&groups);
}

TEST_WITH(a_weight_is_set_in_one_hierarchy, in_empty_folder, NULL)
{
    make_unified();
    assert_weighed(GROUP "/cpu.weight", 5.4, "5");
    assert_weighed(GROUP "/cpu.weight", 0.1, "1");
}

TEST_WITH(a_weight_is_set_in_one_for_each_controller, in_empty_folder, NULL)
{
    make_single();
    assert_weighed("cpu/" GROUP "/cpu.shares", 50, "513");
    assert_weighed("cpu/" GROUP "/cpu.shares", 0.1, "2");
}

static void assert_divided(double busy, unsigned cpus, unsigned busy_count, unsigned idle_count,
                           double expected)
{
    struct balance_use uses[200];
    assert_true(busy_count + idle_count <= ARRAY_SIZE(uses));
    for (unsigned i = 0; i < busy_count + idle_count; i++)
        uses[i] = (struct balance_use){cpus, i < busy_count ? busy : 0.001};
    double weight = balance_weight(uses, busy_count + idle_count);
    assert_true(weight > expected * 0.9 && weight < expected * 1.1);
}

TEST(a_team_divides_its_weight_among_busy_processors)
{
    assert_divided(1, 1, 1, 0, TEAM_WEIGHT);
    assert_divided(1, 1, 1, 19, TEAM_WEIGHT);
    assert_divided(1, 1, 20, 0, TEAM_WEIGHT / 20.0);
    /* Also when each gets little, because there are so many. */
    assert_divided(0.02, 1, 200, 0, TEAM_WEIGHT / 200.0);
    assert_divided(4, 4, 5, 0, TEAM_WEIGHT / 20.0);
    assert_divided(0, 1, 20, 0, TEAM_WEIGHT);
}

TEST_WITH(teams_are_noted_over_a_restart, in_empty_folder, NULL)
{
    struct balance *balance = balance_open("teams");
    balance_note(balance, NAME, &(struct tenant){17, 0});
    balance_note(balance, NAME, &(struct tenant){UINT64_MAX, 18});
    assert_int_equal(balance_count(balance), 1);
    balance_close(balance);
    const struct tenant noted = team_note_read("teams", "sandlot_" NAME);
    assert_true(noted.team == UINT64_MAX && noted.user == 18);
    assert_int_equal(symlink("18", "teams/other"), 0);
    balance = balance_open("teams");
    assert_int_equal(balance_count(balance), 1);
    struct groups groups;
    error_auto err = NULL;
    make_unified();
    assert_int_equal(groups_open(&groups, folder, "sandlot", &err), 0);
    balance_run(balance, &groups);
    assert_file(GROUP "/cpu.weight", "26");
    groups_close(&groups);
    balance_close(balance);
}

static unsigned processors_of(const char *instance)
{
    char text[64] = "";
    struct cpus cpus;
    error_auto err = NULL;
    autofree char *path = xasprintf("lxc.payload.sandlot_%s/cpuset.cpus", instance);
    autofclose FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    text[strcspn(text, "\n")] = '\0';
    assert_int_equal(cpus_read(text, &cpus, &err), 0);
    return (unsigned)cpus.words[0];
}

#define SECOND "sbx-01m84zv6v7k928m8ea9wv1r612"
#define THIRD  "sbx-01m84zv6v7k928m8ea9wv1r613"

TEST_WITH(instances_are_spread_over_processors, in_empty_folder, NULL)
{
    struct groups groups;
    struct spread *spread = NULL;
    error_auto err = NULL;
    make_unified();
    write_file("cpuset.cpus.effective", "0-1\n");
    add_unified(SECOND, "1\n", "25\n");
    add_unified(THIRD, "1\n", "50\n"); /* its weight is worth two processors */
    add_unified("keeper-x", "0-1\n", "25\n");
    assert_int_equal(groups_open(&groups, folder, "sandlot", &err), 0);
    assert_int_equal(spread_open(&spread, &groups, &err), 0);
    assert_int_equal(spread_wait_ms(spread, -1), 0);
    spread_run(spread, &groups);
    assert_int_equal(processors_of(NAME) | processors_of(SECOND), 3);
    assert_int_equal(processors_of(NAME) & processors_of(SECOND), 0);
    assert_int_equal(processors_of(THIRD), 3);
    assert_int_equal(processors_of("keeper-x"), 3);
    assert_int_equal(spread_wait_ms(spread, -1), -1);
    spread_close(spread);
    groups_close(&groups);
}

TEST_WITH(another_weight_is_seen, in_empty_folder, NULL)
{
    struct groups groups;
    struct spread *spread = NULL;
    error_auto err = NULL;
    make_unified();
    assert_int_equal(groups_open(&groups, folder, "sandlot", &err), 0);
    assert_int_equal(spread_open(&spread, &groups, &err), 0);
    spread_run(spread, &groups);
    assert_int_equal(__builtin_popcount(processors_of(NAME)), 1);
    write_file(GROUP "/cpu.weight", "8\n");
    spread_pass_over_weights(spread);
    assert_int_equal(spread_wait_ms(spread, -1), -1);
    write_file(GROUP "/cpu.weight", "75\n"); /* as incusd does for a change of the size */
    spread_look(spread);
    assert_in_range(spread_wait_ms(spread, 2000), 1, 1000);
    clock_sleep_ms(spread_wait_ms(spread, 2000) + 1);
    spread_run(spread, &groups);
    assert_int_equal(__builtin_popcount(processors_of(NAME)), 3);
    spread_close(spread);
    groups_close(&groups);
}

/* --- disks --- */

TEST(the_link_to_a_quota_group_is_read)
{
    static const char *const others[] = {
        "",
        "/run/sandlot-disks/.none",
        "/sys/fs/btrfs/528e4537-ce9c-4830-89c0-215c2d506358/qgroups/1_0",
        "/sys/fs/btrfs/528e4537-ce9c-4830-89c0-215c2d506358/qgroups/0_",
        "/sys/fs/btrfs/528e4537-ce9c-4830-89c0-215c2d506358/qgroups/0_0",
        "/sys/fs/btrfs/528e4537-ce9c-4830-89c0-215c2d506358/qgroups/0_5/..",
        "/sys/fs/btrfs/528e4537-ce9c-4830-89c0-215c2d506358/qgroups/0_281474976710656",
        "/sys/fs/btrfs/features/qgroups/0_5",
        "/sys/fs/btrfs/../../../../../../../../../../../etc/qgroups/0_5",
    };
    char uuid[40];
    uint64_t group;
    assert_int_equal(
        disk_group_read("/sys/fs/btrfs/528e4537-ce9c-4830-89c0-215c2d506358/qgroups/0_258", uuid,
                        sizeof uuid, &group),
        0);
    assert_string_equal(uuid, "528e4537-ce9c-4830-89c0-215c2d506358");
    assert_int_equal(group, 258);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_int_equal(disk_group_read(others[i], uuid, sizeof uuid, &group), -1);
}

/* --- what is noted of volumes --- */

TEST_WITH(a_note_says_what_is_mounted, in_empty_folder, NULL)
{
    const struct stat one = {.st_dev = 70, .st_ino = 256}, two = {.st_dev = 7, .st_ino = 256};
    const struct mount_noted mounts[] = {{one, "/data"}, {one, "/mnt/a b"}};
    error_auto err = NULL;
    assert_null(mount_note_read("notes", NAME));
    assert_int_equal(mount_note_write("notes", NAME, mounts, 1, &err), 0);
    assert_int_equal(mount_note_write("notes", NAME, mounts, 2, &err), 0);
    autofree char *note = mount_note_read("notes", "my_project_" NAME);
    assert_non_null(note);
    assert_true(mount_note_has(note, &one, "/data"));
    assert_true(mount_note_has(note, &one, "/mnt/a b"));
    assert_false(mount_note_has(note, &two, "/data"));
    assert_false(mount_note_has(note, &one, "/mnt/a"));
    assert_false(mount_note_has(note, &one, "data"));
    const char *left = note;
    autofree char *first = mount_note_next(&left), *second = mount_note_next(&left);
    assert_string_equal(first, "/data");
    assert_string_equal(second, "/mnt/a b");
    assert_null(mount_note_next(&left));
    mount_note_remove("notes", "sandlot_" NAME);
    assert_null(mount_note_read("notes", NAME));
}

TEST_GROUP(make_folder, remove_folder)
