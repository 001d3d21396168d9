/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <sys/stat.h>

#include "agent/common/paths.h"
#include "agent/common/users.h"
#include "base/mem.h"

static struct user someone = {.name = (char *)"someone", .home = (char *)"/home/someone"};

TEST(resolves)
{
    static const char *const cases[][2] = {
        {"", "/home/someone"},
        {".", "/home/someone"},
        {"~", "/home/someone"},
        {"~/", "/home/someone"},
        {"~/a", "/home/someone/a"},
        {"a/b", "/home/someone/a/b"},
        {"./a/./b/", "/home/someone/a/b"},
        {"../x", "/home/x"},
        {"../../../../x", "/x"},
        {"..", "/home"},
        {"../..", "/"},
        {"/", "/"},
        {"//", "/"},
        {"/..", "/"},
        {"/a//b///c/", "/a/b/c"},
        {"/a/../b", "/b"},
        {"/a/...", "/a/..."},
        {"/a/..b/.c", "/a/..b/.c"},
        {"/a/b/../..", "/"},
        {"/a/~/b", "/a/~/b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rpc_error error;
        autofree char *path = NULL;
        assert_int_equal(paths_resolve(cases[i][0], &someone, &path, &error), 0);
        assert_string_equal(path, cases[i][1]);
    }
}

TEST(refuses)
{
    char text[PATH_LENGTH_MAX + 2];
    struct rpc_error error;
    autofree char *path = NULL;
    memset(text, 'a', sizeof text);
    text[0] = '/';
    text[PATH_LENGTH_MAX + 1] = '\0';
    assert_int_equal(paths_resolve(text, &someone, &path, &error), -1);
    assert_int_equal(error.code, RPC_INVALID_ARGUMENT);
    assert_int_equal(paths_resolve(text + 5, &someone, &path, &error), -1);
    assert_int_equal(paths_resolve("~root/x", &someone, &path, &error), -1);
    assert_null(path);
    text[PATH_LENGTH_MAX] = '\0';
    assert_int_equal(paths_resolve(text, &someone, &path, &error), 0);
}

TEST(names_the_base)
{
    assert_string_equal(paths_base("/a/b"), "b");
    assert_string_equal(paths_base("/"), "/");
}

TEST(makes_directories)
{
    char root[] = "/tmp/test_paths.XXXXXX";
    struct rpc_error error;
    struct stat status;
    assert_non_null(mkdtemp(root));
    struct user me = {.uid = getuid(), .gid = getgid()};
    autofree char *deep = xasprintf("%s/a/b/c", root);
    autofree char *file = xasprintf("%s/a/file", root);
    autofree char *below = xasprintf("%s/a/file/x/y", root);
    assert_int_equal(paths_make_parents(deep, &me, &error), 0);
    assert_int_equal(stat(deep, &status), -1);
    assert_int_equal(paths_make_directories(deep, &me, &error), 0);
    assert_int_equal(paths_make_directories(deep, &me, &error), 0);
    assert_int_equal(stat(deep, &status), 0);
    assert_true(S_ISDIR(status.st_mode));
    autofclose FILE *made = fopen(file, "we");
    assert_non_null(made);
    assert_int_equal(paths_make_parents(below, &me, &error), -1);
    assert_int_equal(error.code, RPC_INVALID_ARGUMENT);
    unlink(file);
    for (int i = 0; i < 4; i++, *strrchr(deep, '/') = '\0')
        rmdir(deep);
}

/* Writes a file with this text; returns its name. */
static char *file_with(const char *text)
{
    char *name = xstrdup("/tmp/test_paths.XXXXXX");
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return name;
}

TEST(finds_users)
{
    autofree char *passwd = file_with("root:x:0:0::/root:/bin/sh\nbroken\n"
                                      "user:x:1000:1000:A,B:/home/user:/bin/bash\n"
                                      "bare:x:7:7:::\n");
    autofree char *group = file_with("root:x:0:\nsudo:x:27:other,user\nuser:x:1000:user\n"
                                     "near:x:28:user2,xuser\n");
    struct rpc_error error;
    user_auto user = {.name = NULL};
    user_auto bare = {.name = NULL};
    users_set_files(passwd, group);
    assert_int_equal(users_find("user", &user, &error), 0);
    assert_string_equal(user.home, "/home/user");
    assert_string_equal(user.shell, "/bin/bash");
    assert_int_equal(user.uid, 1000);
    assert_int_equal(user.group_count, 2);
    assert_int_equal(user.groups[0], 1000);
    assert_int_equal(user.groups[1], 27);
    assert_int_equal(users_find("bare", &bare, &error), 0);
    assert_string_equal(bare.home, "/");
    assert_string_equal(bare.shell, "/bin/sh");
    struct user none;
    assert_int_equal(users_find("nobody", &none, &error), -1);
    assert_int_equal(error.code, RPC_UNAUTHENTICATED);
    assert_int_equal(users_find("", &none, &error), -1);
    assert_string_equal(users_name_of_uid(1000), "user");
    assert_string_equal(users_name_of_uid(4711), "4711");
    assert_string_equal(users_name_of_gid(27), "sudo");
    unlink(passwd);
    unlink(group);
    assert_int_equal(users_find("user", &none, &error), -1);
    assert_int_equal(error.code, RPC_FAILED_PRECONDITION);
    user_auto root = {.name = NULL};
    assert_int_equal(users_find("root", &root, &error), 0);
    assert_int_equal(root.uid, 0);
    assert_string_equal(root.home, "/");
    assert_string_equal(root.shell, "/bin/sh");
}

TEST(root_needs_no_entry_in_the_list_of_users)
{
    autofree char *passwd = file_with("nobody:x:65534:65534:Nobody:/:\n");
    autofree char *group = file_with("");
    struct rpc_error error;
    struct user none;
    user_auto root = {.name = NULL}, nobody = {.name = NULL};
    users_set_files(passwd, group);
    assert_int_equal(users_find("root", &root, &error), 0);
    assert_int_equal(root.uid, 0);
    assert_int_equal(root.group_count, 1);
    assert_string_equal(root.home, "/");
    assert_int_equal(users_find("nobody", &nobody, &error), 0);
    assert_int_equal(nobody.uid, 65534);
    assert_int_equal(users_find("user", &none, &error), -1);
    assert_int_equal(error.code, RPC_UNAUTHENTICATED);
    unlink(passwd);
    unlink(group);
}
