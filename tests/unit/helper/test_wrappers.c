/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which calls of ip, nft and criu are answered otherwise, what is read of ip's answers, where CRIU
 * is found, how other programs are run, and which folders of a search path are this program's. */
#include "unit/folder.h"

#include <sys/stat.h>

#include "base/mem.h"
#include "helper/common/run.h"
#include "helper/common/self.h"
#include "helper/criu/criu_path.h"
#include "helper/network/ip.h"
#include "helper/network/nft.h"

#define WORDS_MAX 16

/* Splits a command at its blanks, in place. */
static int split(char *text, char *words[WORDS_MAX])
{
    int count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word && count < WORDS_MAX - 1;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    words[count] = NULL;
    return count;
}

/* --- ip --- */

TEST(an_added_route_is_known)
{
    static const char *const others[] = {
        "ip",
        "ip -4 route add table main 10.0.0.7 dev",
        "ip -4 route add table main 10.0.0.7 dev sl0 proto",
        "ip -4 route add table main 10.0.0.7 via sl0",
        "ip -6 route add table main fd00::1 dev sl0",
        "ip -4 route replace table main 10.0.0.7 dev sl0",
        "ip link delete dev sl0",
    };
    char *words[WORDS_MAX], text[] = "ip -4 route add table main 10.0.0.7 dev sl0";
    int count = split(text, words);
    assert_string_equal(ip_added_address(count, words), "10.0.0.7");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        autofree char *other = xstrdup(others[i]);
        count = split(other, words);
        assert_null(ip_added_address(count, words));
    }
}

TEST(the_link_of_a_route_is_read)
{
    autofree char *link = ip_link_of_route("10.0.0.7 dev sl00000000000a1 scope link \n");
    assert_string_equal(link, "sl00000000000a1");
    autofree char *first = ip_link_of_route("10.0.0.7 dev one scope link\n10.0.0.7 dev two\n");
    assert_string_equal(first, "one");
    autofree char *last = ip_link_of_route("10.0.0.7 dev eth9");
    assert_string_equal(last, "eth9");
    assert_null(ip_link_of_route(""));
    assert_null(ip_link_of_route("10.0.0.7 via 10.0.0.1\n"));
    assert_null(ip_link_of_route("10.0.0.7 dev "));
}

TEST(a_link_with_both_ends_here_is_stale)
{
    assert_true(ip_is_stale("7: sl1@veth9: <BROADCAST> mtu 1500\n", "sl1"));
    assert_true(ip_is_stale("7: sl1@ifb: <BROADCAST> mtu 1500\n", "sl1"));
    assert_false(ip_is_stale("7: sl1@if6: <BROADCAST> mtu 1500\n", "sl1"));
    assert_false(ip_is_stale("7: sl12@veth9: <BROADCAST> mtu 1500\n", "sl1"));
    assert_false(ip_is_stale("7: sl1: <BROADCAST> mtu 1500\n", "sl1"));
    assert_false(ip_is_stale("", "sl1"));
}

/* --- nft --- */

static enum nft_call nft_of(const char *command)
{
    char *words[WORDS_MAX];
    autofree char *text = xstrdup(command);
    split(text, words);
    return nft_read(words);
}

TEST(lists_of_rules_are_known)
{
    assert_int_equal(nft_of("--json -nn list ruleset"), NFT_LIST);
    assert_int_equal(nft_of("create table inet incus_test_1"), NFT_TRY);
    assert_int_equal(nft_of("create table incus_test_1"), NFT_TRY);
    assert_int_equal(nft_of("create table inet incus"), NFT_OTHER);
    assert_int_equal(nft_of("--json -nn list ruleset inet"), NFT_OTHER);
    assert_int_equal(nft_of("--json -nn list"), NFT_OTHER);
    assert_int_equal(nft_of("list ruleset"), NFT_OTHER);
    assert_int_equal(nft_of("delete table inet incus_test_1"), NFT_OTHER);
    assert_int_equal(nft_of("create"), NFT_OTHER);
    assert_int_equal(nft_of(""), NFT_OTHER);
}

/* --- criu --- */

static void make_file(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

TEST(the_named_criu_comes_first)
{
    struct words criu = {.list = NULL};
    assert_int_equal(setenv("SANDLOT_CRIU", "/usr/sbin/criu", 1), 0);
    assert_int_equal(criu_path_find("nowhere", "nowhere.so", &criu), 0);
    assert_int_equal(criu.count, 1);
    assert_string_equal(criu.list[0], "/usr/sbin/criu");
    words_deinit(&criu);
    assert_false(criu_path_tell_version("nowhere", (char *[]){(char *)"--version", NULL}));
    assert_int_equal(unsetenv("SANDLOT_CRIU"), 0);
}

TEST(an_unpacked_criu_has_its_own_loader)
{
    struct words criu = {.list = NULL};
    assert_int_equal(criu_path_find("unpacked", "first.so", &criu), -1);
    assert_int_equal(mkdir("unpacked", 0755), 0);
    assert_int_equal(mkdir("unpacked/usr", 0755), 0);
    assert_int_equal(mkdir("unpacked/usr/sbin", 0755), 0);
    assert_int_equal(mkdir("unpacked/usr/lib", 0755), 0);
    assert_int_equal(mkdir("unpacked/usr/lib/x86_64-linux-gnu", 0755), 0);
    assert_int_equal(mkdir("unpacked/usr/lib64", 0755), 0);
    make_file("unpacked/usr/sbin/criu", "", 0755);
    assert_int_equal(criu_path_find("unpacked", "first.so", &criu), -1); /* no loader */
    make_file("unpacked/usr/lib64/ld-linux-x86-64.so.2", "", 0755);
    assert_int_equal(criu_path_find("unpacked", "first.so", &criu), 0);
    assert_int_equal(criu.count, 4);
    assert_string_equal(criu.list[0], "unpacked/usr/lib64/ld-linux-x86-64.so.2");
    assert_string_equal(criu.list[1], "--library-path");
    assert_string_equal(criu.list[2], "unpacked/usr/lib/x86_64-linux-gnu:unpacked/usr/lib");
    assert_string_equal(criu.list[3], "unpacked/usr/sbin/criu");
    words_deinit(&criu);
    make_file("first.so", "", 0755);
    assert_int_equal(criu_path_find("unpacked", "first.so", &criu), 0);
    assert_int_equal(criu.count, 6);
    assert_string_equal(criu.list[3], "--preload");
    assert_string_equal(criu.list[4], "first.so");
    words_deinit(&criu);
}

/* As long as it is known. */
TEST(the_version_is_told_without_criu)
{
    char version[] = "--version", check[] = "check";
    assert_false(criu_path_tell_version("known", (char *[]){version, NULL}));
    assert_int_equal(mkdir("known", 0755), 0);
    make_file("known/version", "", 0644);
    assert_false(criu_path_tell_version("known", (char *[]){version, NULL}));
    make_file("known/version", "# Version: 4.2\n", 0644);
    assert_false(criu_path_tell_version("known", (char *[]){check, NULL}));
    assert_false(criu_path_tell_version("known", (char *[]){NULL}));
    assert_true(criu_path_tell_version("known", (char *[]){version, NULL}));
}

/* --- other programs --- */

static char *read_of(const char *script, size_t most)
{
    return run_read((char *[]){(char *)"sh", (char *)"-c", (char *)script, NULL}, most);
}

TEST(commands_are_run)
{
    char shell[] = "sh", option[] = "-c", ends[] = "exit 7", killed[] = "kill -KILL $$";
    char missing[] = "/nowhere/program";
    assert_int_equal(run_wait((char *[]){shell, option, ends, NULL}, false), 7);
    assert_int_equal(run_wait((char *[]){shell, option, killed, NULL}, true), 128 + 9);
    assert_int_equal(run_wait((char *[]){missing, NULL}, true), RUN_CANNOT);
    autofree char *answer = read_of("echo one; echo two >&2; echo three", 64);
    assert_string_equal(answer, "one\nthree\n");
    autofree char *none = read_of(":", 64);
    assert_string_equal(none, "");
    assert_null(read_of("echo one; exit 1", 64));
    assert_null(run_read((char *[]){missing, NULL}, 64));
    autofree char *cut = read_of("printf abcdef", 3);
    assert_string_equal(cut, "abc");
}

TEST(the_first_program_that_is_there_is_taken)
{
    static const char *const places[] = {"/nowhere/sh", "/bin/sh", "/usr/bin/sh"};
    assert_string_equal(run_first_of(places, ARRAY_SIZE(places)), "/bin/sh");
    assert_string_equal(run_first_of(places, 1), "/nowhere/sh");
}

TEST(own_folders_are_not_in_the_path)
{
    assert_int_equal(mkdir("own", 0755), 0);
    assert_int_equal(mkdir("copy", 0755), 0);
    assert_int_equal(mkdir("other", 0755), 0);
    assert_int_equal(symlink("/proc/self/exe", "own/ip"), 0);
    make_file("copy/" SELF_NAME, "", 0755);
    assert_int_equal(symlink(SELF_NAME, "copy/ip"), 0);
    make_file("other/ip", "", 0755);
    autofree char *path = xasprintf("%s/own:/usr/sbin::%s/copy:%s/other:%s/other/../own/", folder,
                                    folder, folder, folder);
    autofree char *expected = xasprintf("/usr/sbin:%s/other", folder);
    autofree char *found = self_path_without(path, "ip");
    assert_string_equal(found, expected);
    autofree char *none = self_path_without("own", "ip");
    assert_string_equal(none, "");
    autofree char *whole = self_path_without("/nowhere:own", "nft");
    assert_string_equal(whole, "/nowhere:own");
}

TEST_GROUP(make_folder, remove_folder)
