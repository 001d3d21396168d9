/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users and groups of a sandbox. */
#include "unit/unit.h"

#include "agent/common/users.h"
#include "base/mem.h"

static char passwd_file[] = "/tmp/test_users.XXXXXX";
static char group_file[] = "/tmp/test_users.XXXXXX";

static void write_file(char *path, const char *text)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static int set_up(void **state)
{
    write_file(passwd_file, "root:x:0:0::/root:/bin/sh\n"
                            "app:x:700:701::/srv/app:\n"
                            "application:x:702:702::/:/bin/sh\n"
                            "env:x:703:703::/:/usr/bin/env\n"
                            "server:x:704:704::/:/usr/sbin/nologin\n"
                            "other:x:705:705::/:/bin/false\n"
                            "missing:x:706:706::/:/no/such/shell\n"
                            "odd:x:707:707::/:sh\n");
    write_file(group_file, "root:x:0:\napp:x:701:\nwww:x:33:app\n44:x:55:\nlog:x:4:root,app\n");
    users_set_files(passwd_file, group_file);
    return 0;
}

static int tear_down(void **state)
{
    unlink(passwd_file);
    unlink(group_file);
    return 0;
}

static void assert_groups(const char *name, const gid_t *groups, size_t count)
{
    struct rpc_error error;
    user_auto user = {.name = NULL};
    if (users_find(name, &user, &error) < 0)
        fail_msg("%s: %s", name, error.message);
    assert_string_equal(user.name, "app");
    assert_string_equal(user.home, "/srv/app");
    assert_int_equal(user.uid, 700);
    assert_int_equal(user.gid, groups[0]);
    assert_int_equal(user.group_count, count);
    assert_memory_equal(user.groups, groups, count * sizeof *groups);
}

TEST(a_user_has_all_of_its_groups)
{
    const gid_t own[] = {701, 33, 4};
    assert_groups("app", own, 3);
}

TEST(a_given_group_is_the_only_one)
{
    static const struct {
        const char *name;
        gid_t group;
    } cases[] = {{"app:www", 33},    {"app:app", 701}, {"app:33", 33},
                 {"app:9999", 9999}, {"app:44", 55},   {"app:0", 0}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_groups(cases[i].name, &cases[i].group, 1);
}

/* The start command of a template runs in the shell of the user. */
TEST(the_shell_of_a_server_runs_command_lines)
{
    static const struct {
        const char *name, *shell;
    } cases[] = {{"env", "/usr/bin/env"}, {"app", "/bin/sh"},     {"server", "/bin/sh"},
                 {"other", "/bin/sh"},    {"missing", "/bin/sh"}, {"odd", "/bin/sh"}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct rpc_error error;
        user_auto user = {.name = NULL};
        assert_int_equal(users_find(cases[i].name, &user, &error), 0);
        assert_string_equal(user.shell, cases[i].shell);
    }
}

TEST(unknown_users_and_groups)
{
    static const char *const names[] = {
        "",         "nobody", "ap",     "nobody:www",     ":www",
        "app:none", "app:",   "app:-1", "app:4294967295", "app:www:"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct rpc_error error;
        user_auto user = {.name = NULL};
        if (users_find(names[i], &user, &error) == 0)
            fail_msg("\"%s\" is found", names[i]);
        assert_int_equal(error.code, RPC_UNAUTHENTICATED);
    }
}

TEST_GROUP(set_up, tear_down)
