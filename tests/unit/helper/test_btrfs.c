/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which calls of btrfs are answered before it, where the image of a fork lies and what is in its
 * place, what goes to another server, who puts a sandbox's quota group among the guests', and which
 * btrfs is the next one. */
#include "unit/folder.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "common/btrfs.h"
#include "helper/btrfs/btrfs_call.h"
#include "helper/btrfs/files.h"
#include "helper/btrfs/fork_image.h"
#include "helper/btrfs/real_btrfs.h"
#include "helper/btrfs/size.h"
#include "helper/btrfs/subvolume.h"
#include "helper/btrfs/transfer.h"

#define SNAPSHOT_OF_FORK "/pool/containers-snapshots/p_sbx/fork-01"

static void make_folders(const char *path)
{
    autofree char *command = xasprintf("mkdir -p %s", path);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

static void assert_line(const char *in, const char *name, const char *expected)
{
    autofree char *line = files_read_line(in, name);
    assert_non_null(line);
    assert_string_equal(line, expected);
}

/* --- calls --- */

/* The text is cut, and must outlive what is read. */
static struct btrfs_call read_text(char *text)
{
    char *words[16], *rest = NULL;
    unsigned count = 0;
    struct btrfs_call asked;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    words[count] = NULL;
    btrfs_call_read(words, &asked);
    return asked;
}

TEST(what_incusd_asks_is_known)
{
    char snapshot[] = "subvolume snapshot /a /b", delete[] = "subvolume delete /a";
    char seal[] = "property set -f -ts /a ro true", unseal[] = "property set -f -ts /b ro false";
    char sealed[] = "property get -ts /a";
    char group[] = "qgroup show -e -f --raw /a";
    char send[] = "send /a", receive[] = "receive -e /a";
    struct btrfs_call asked = read_text(snapshot);
    assert_int_equal(asked.kind, BTRFS_CALL_SNAPSHOT);
    assert_string_equal(asked.from, "/a");
    assert_string_equal(asked.path, "/b");
    asked = read_text(delete);
    assert_int_equal(asked.kind, BTRFS_CALL_DELETE);
    assert_string_equal(asked.path, "/a");
    asked = read_text(seal);
    assert_int_equal(asked.kind, BTRFS_CALL_SEAL);
    assert_string_equal(asked.path, "/a");
    asked = read_text(unseal);
    assert_int_equal(asked.kind, BTRFS_CALL_UNSEAL);
    assert_string_equal(asked.path, "/b");
    asked = read_text(group);
    assert_int_equal(asked.kind, BTRFS_CALL_GROUP);
    assert_string_equal(asked.path, "/a");
    asked = read_text(sealed);
    assert_int_equal(asked.kind, BTRFS_CALL_SEALED);
    assert_string_equal(asked.path, "/a");
    asked = read_text(send);
    assert_int_equal(asked.kind, BTRFS_CALL_SEND);
    assert_string_equal(asked.path, "/a");
    asked = read_text(receive);
    assert_int_equal(asked.kind, BTRFS_CALL_RECEIVE);
    assert_string_equal(asked.path, "/a");
}

TEST(sizes_are_read)
{
    char size[] = "qgroup limit 10737418240 0/257 /a", none[] = "qgroup limit -e none 0/257 /a";
    struct btrfs_call asked = read_text(size);
    assert_int_equal(asked.kind, BTRFS_CALL_SIZE);
    assert_string_equal(asked.path, "/a");
    assert_int_equal(asked.group, 257);
    assert_int_equal(asked.limit, BTRFS_QGROUP_LIMIT_MAX_RFER);
    assert_true(asked.bytes == UINT64_C(10) << 30);
    asked = read_text(none);
    assert_int_equal(asked.kind, BTRFS_CALL_SIZE);
    assert_string_equal(asked.path, "/a");
    assert_int_equal(asked.group, 257);
    assert_int_equal(asked.limit, BTRFS_QGROUP_LIMIT_MAX_EXCL);
    assert_true(asked.bytes == UINT64_MAX);
}

TEST(all_else_is_left_to_btrfs)
{
    static const char *const others[] = {
        "",
        "subvolume",
        "subvolume list /a",
        "subvolume snapshot -r /a /b",
        "subvolume delete -c /a",
        "subvolume delete /a /b",
        "subvolume create /a",
        "property set -f -ts /a ro maybe",
        "property set -f -ts /a label true",
        "property set /a ro true",
        "property get -f -ts /a ro true",
        "property get -ts /a ro",
        "property get /a",
        "property get",
        "qgroup show -e -f --raw /a /b",
        "qgroup show --raw -re /a",
        "qgroup destroy 0/257 /a",
        "qgroup limit 10g 0/257 /a",
        "qgroup limit 10 1/0 /a",
        "qgroup limit 10 /a /b",
        "qgroup limit 10 /a",
        "qgroup limit -e 10 /a",
        "qgroup limit -c 10 0/257 /a",
        "qgroup limit 10 0/257 /a /b",
        "send",
        "send -f /b /a",
        "send -p /b /a",
        "receive /a",
        "receive -e",
        "receive -f /b /a",
    };
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        autofree char *text = xstrdup(others[i]);
        struct btrfs_call asked = read_text(text);
        if (asked.kind != BTRFS_CALL_OTHER)
            fail_msg("\"%s\" is not left to btrfs", others[i]);
    }
}

/* --- images of forks --- */

TEST(the_image_of_a_fork_is_beside_the_instances)
{
    static const char *const others[] = {
        "/pool/containers-snapshots/p_sbx/ckp-01",
        "/pool/containers-snapshots/p_sbx/fork-01/state",
        "/pool/containers-snapshots/p_sbx/fork-01/fork-02",
        "/pool/containers-snapshots//fork-01",
        "/pool/containers-snapshots/fork-01",
        "/pool/containers/p_sbx/fork-01",
        "/fork-01",
        "fork-01",
        "",
    };
    autofree char *image = fork_image_of(SNAPSHOT_OF_FORK);
    assert_string_equal(image, "/pool/sandlot-images/p_sbx.fork-01");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_null(fork_image_of(others[i]));
}

TEST(the_name_is_in_place_of_an_image)
{
    struct stat found;
    make_folders("named/state images/p_sbx.fork-01");
    assert_int_equal(files_write_line("images/p_sbx.fork-01", "sandlot-owner", "p_sbx"), 0);
    assert_int_equal(chmod("named/state", 0755), 0);
    assert_int_equal(fork_image_name("named", "images/p_sbx.fork-01"), 0);
    assert_line("named/state", "sandlot-owner", "p_sbx");
    assert_line("named/state", "sandlot-image", "p_sbx.fork-01");
    assert_int_equal(stat("named/state", &found), 0);
    assert_int_equal(found.st_mode & 07777, 0700);
    /* It is not written over what is there. */
    assert_int_equal(fork_image_name("named", "images/p_sbx.fork-01"), -1);
}

TEST(an_image_that_nobody_owns_is_not_named)
{
    make_folders("unowned images/p_sbx.fork-02");
    assert_int_equal(fork_image_name("unowned", "images/p_sbx.fork-02"), -1);
    /* What has no end was cut off. */
    FILE *file = fopen("images/p_sbx.fork-02/sandlot-owner", "we");
    assert_true(file && fputs("p_s", file) >= 0 && fclose(file) == 0);
    assert_int_equal(fork_image_name("unowned", "images/p_sbx.fork-02"), -1);
    assert_false(files_exist("unowned", "state"));
}

TEST(what_is_no_subvolume_is_left_to_btrfs)
{
    make_folders("plain/a");
    assert_int_equal(subvolume_copy("plain/a", "plain/b"), -1);
    assert_int_equal(subvolume_copy("plain/missing", "plain/b"), -1);
    assert_int_equal(subvolume_delete("plain/a"), -1);
    assert_int_equal(subvolume_delete("plain/a/"), -1);
    assert_int_equal(subvolume_tell_sealed("plain/a"), -1);
    assert_int_equal(subvolume_tell_group("plain/a"), -1);
    assert_int_equal(subvolume_unseal("plain/a"), -1);
    assert_true(files_exist("plain", "a"));
    assert_false(files_exist("plain", "b"));
}

TEST(what_is_no_matter_of_a_fork_is_left)
{
    make_folders("pool/containers-snapshots/c/fork-1 pool/containers/c/state");
    assert_int_equal(fork_image_snapshot("pool/containers/c", "pool/containers-snapshots/c/ckp-1"),
                     -1);
    /* A folder of no image. */
    assert_int_equal(
        fork_image_snapshot("pool/containers/c/state", "pool/containers-snapshots/c/fork-1/state"),
        -1);
    /* One of before has its image in it. */
    assert_int_equal(fork_image_delete("pool/containers-snapshots/c/fork-1"), -1);
    assert_true(files_exist("pool/containers-snapshots/c", "fork-1"));
}

TEST(a_snapshot_that_fails_leaves_nothing)
{
    make_folders("failing/containers/c");
    /* It is no subvolume. */
    assert_int_equal(
        fork_image_snapshot("failing/containers/c", "failing/containers-snapshots/c/fork-1"),
        EXIT_FAILURE);
    assert_int_equal(rmdir("failing/containers-snapshots/c"), -1);
    make_folders("failing/containers-snapshots");
    assert_int_equal(
        fork_image_snapshot("failing/containers/c", "failing/containers-snapshots/c/fork-1"),
        EXIT_FAILURE);
    assert_int_equal(rmdir("failing/containers-snapshots/c"), 0);
}

TEST(the_image_of_a_copy_is_put_aside)
{
    make_folders("copies/own/state copies/other/state copies/bare");
    assert_int_equal(files_write_line("copies/own/state", "sandlot-owner", "own"), 0);
    assert_int_equal(files_write_line("copies/other/state", "sandlot-owner", "own"), 0);
    size_put_aside("copies/own");
    size_put_aside("copies/bare");
    assert_false(files_exist("copies/own", "sandlot-memory"));
    assert_false(files_exist("copies/bare", "state"));
    size_put_aside("copies/other");
    assert_line("copies/other/sandlot-memory", "sandlot-owner", "own");
    assert_false(files_exist("copies/other/state", "sandlot-owner"));
    /* The first one is what a start wants. */
    assert_int_equal(files_write_line("copies/other/state", "sandlot-owner", "later"), 0);
    size_put_aside("copies/other");
    assert_line("copies/other/sandlot-memory", "sandlot-owner", "own");
    assert_line("copies/other/state", "sandlot-owner", "later");
}

/* --- what goes to another server --- */

TEST(what_is_no_matter_of_a_move_is_left)
{
    make_folders("moves/containers/a moves/containers/migration.1/a moves/containers/migration.2");
    assert_int_equal(transfer_snapshot("moves/containers/a", "moves/containers/b"), -1);
    assert_int_equal(transfer_snapshot("moves/containers/a", "moves/containers/.migration-send"),
                     -1);
    assert_int_equal(transfer_unseal("moves/containers/a"), -1);
    /* They are no subvolumes. */
    assert_int_equal(
        transfer_snapshot("moves/containers/a", "moves/containers/migration.2/.migration-send"),
        -1);
    assert_int_equal(transfer_unseal("moves/containers/migration.1/a"), -1);
    assert_int_equal(transfer_send("moves/containers/migration.1/a"), -1);
    assert_false(files_exist("moves/containers/migration.2", ".migration-send"));
}

TEST(what_is_gathered_is_the_same)
{
    enum { SIZE = 300001 };
    int in[2], out[2];
    char *data = xcalloc(1, SIZE), *found = xcalloc(1, SIZE);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (char)(i * 7 % 251);
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    assert_true(fcntl(in[1], F_SETPIPE_SZ, 1 << 20) > SIZE);
    assert_true(fcntl(out[1], F_SETPIPE_SZ, 1 << 20) > SIZE);
    for (size_t at = 0; at < SIZE; at += 1000)
        assert_true(write(in[1], data + at, SIZE - at < 1000 ? SIZE - at : 1000) > 0);
    close(in[1]);
    assert_int_equal(transfer_gather(in[0], out[1]), 0);
    close(out[1]);
    size_t size = 0;
    for (ssize_t count; (count = read(out[0], found + size, SIZE - size)) > 0;)
        size += (size_t)count;
    assert_int_equal(size, SIZE);
    assert_memory_equal(data, found, SIZE);
    close(in[0]);
    close(out[0]);
    free(data);
    free(found);
}

/* --- sizes --- */

static void write_number(const char *group, const char *file, uint64_t number)
{
    autofree char *in = xasprintf("qgroups/%s", group);
    autofree char *text = xasprintf("%llu", (unsigned long long)number);
    make_folders(in);
    assert_int_equal(files_write_line(in, file, text), 0);
}

TEST(a_group_has_numbers)
{
    write_number("0_300", "referenced", UINT64_C(1) << 40);
    assert_true(btrfs_group_read("qgroups", "0_300", "referenced") == UINT64_C(1) << 40);
    assert_true(btrfs_group_read("qgroups", "0_300", "exclusive") == 0);
    assert_true(btrfs_group_read("qgroups", "0_301", "referenced") == 0);
}

TEST(who_puts_a_group_among_the_guests)
{
    const uint64_t most = UINT64_C(4) << 30;
    /* Nothing is known of the guests' part. */
    assert_int_equal(size_joiner_of("qgroups", 257), SIZE_GUARD);
    write_number("1_0", "max_referenced", most);
    write_number("1_0", "referenced", most - BTRFS_GUESTS_ROOM);
    assert_int_equal(size_joiner_of("qgroups", 257), SIZE_HERE);
    write_number("0_257", "max_referenced", 0);
    assert_int_equal(size_joiner_of("qgroups", 257), SIZE_HERE);
    write_number("0_257", "max_referenced", 1 << 20);
    assert_int_equal(size_joiner_of("qgroups", 257), SIZE_JOINED);
    write_number("1_0", "referenced", most - BTRFS_GUESTS_ROOM + 1);
    assert_int_equal(size_joiner_of("qgroups", 257), SIZE_GUARD);
    write_number("1_0", "referenced", most + 1);
    assert_int_equal(size_joiner_of("qgroups", 257), SIZE_GUARD);
}

TEST(the_top_is_where_it_is_mounted)
{
    autofree char *process = btrfs_top_of("/proc/self/net");
    assert_string_equal(process, "/proc");
    autofree char *root = btrfs_top_of("/");
    assert_string_equal(root, "/");
    assert_null(btrfs_top_of("missing"));
}

TEST(no_size_is_set_without_btrfs)
{
    const struct btrfs_call asked = {.kind = BTRFS_CALL_SIZE, .path = "/proc/self", .group = 257};
    assert_int_equal(size_set(&asked), -1);
}

/* --- the next one --- */

TEST(it_does_not_call_itself)
{
    autofree char *path = xstrdup(getenv("PATH"));
    autofree char *own = xasprintf("%s/own:/sbin", folder);
    make_folders("own");
    assert_int_equal(symlink("/proc/self/exe", "own/btrfs"), 0);
    assert_int_equal(setenv("PATH", own, 1), 0);
    assert_int_equal(real_btrfs_prepare(), 0);
    assert_string_equal(getenv("PATH"), "/sbin");
    assert_int_equal(real_btrfs_prepare(), -1);
    assert_int_equal(unsetenv("SANDLOT_BTRFS_WRAPPER"), 0);
    assert_int_equal(setenv("PATH", path, 1), 0);
}

TEST_GROUP(make_folder, remove_folder)
