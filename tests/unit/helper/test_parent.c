/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What makes two trees the same to a stream, what a move is told of its parent, and the note that
 * goes ahead of a stream. */
#include "unit/folder.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "helper/btrfs/parent.h"
#include "helper/btrfs/transfer.h"
#include "helper/btrfs/tree.h"

static void run(const char *command)
{
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

/* --- trees --- */

static int make_trees(void **state)
{
    run("rm -rf a b && mkdir -p a/in/deep && printf data >a/file && printf more >a/in/other && "
        "ln a/file a/in/name && ln -s file a/link && mkfifo a/pipe && chmod 640 a/in/other && "
        "truncate -s 1M a/sparse && printf end >>a/sparse && "
        "find a -exec touch -h -d @500 {} + && cp -a a b");
    return 0;
}

static void digest_of(const char *path, unsigned char digest[TREE_DIGEST_SIZE])
{
    assert_int_equal(tree_digest(path, TREE_BYTES_MAX, digest), 0);
}

static bool are_alike(void)
{
    unsigned char a[TREE_DIGEST_SIZE], b[TREE_DIGEST_SIZE];
    digest_of("a", a);
    digest_of("b", b);
    return memcmp(a, b, sizeof a) == 0;
}

TEST_WITH(copies_are_alike, make_trees, NULL)
{
    assert_true(are_alike());
}

TEST(each_change_is_seen)
{
    static const char *const changes[] = {
        "printf dato >b/file && touch -d @500 b/file",
        "printf datas >b/file && touch -d @500 b/file",
        "chmod 600 b/in/other",
        "chown 5 b/in/other",
        "chgrp 5 b/link -h",
        "touch -d @501 b/in/other",
        "touch -d @500.000000001 b/in/other",
        "touch -h -d @501 b/link",
        "ln -sfn filo b/link && touch -h -d @500 b/link && touch -d @500 b",
        "mv b/in/other b/in/othar && touch -d @500 b/in",
        "rm b/in/other && touch -d @500 b/in",
        "mkdir b/in/new && touch -d @500 b/in/new b/in",
        "rm b/in/name && cp -a b/file b/in/name && touch -d @500 b/in",
        "rm b/pipe && mknod b/pipe c 1 3 && touch -d @500 b/pipe b",
        "truncate -s 2M b/sparse && touch -d @500 b/sparse",
        "rmdir b/in/deep && ln -s x b/in/deep && touch -h -d @500 b/in/deep && touch -d @500 b/in",
    };
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        if (strstr(changes[i], "mknod") && geteuid() != 0)
            continue;
        if (strstr(changes[i], "ch") == changes[i] && geteuid() != 0)
            continue;
        make_trees(state);
        run(changes[i]);
        if (are_alike())
            fail_msg("not seen: %s", changes[i]);
    }
}

TEST_WITH(an_attribute_is_seen, make_trees, NULL)
{
    if (system("setfattr -n user.some -v one b/file 2>/dev/null") != 0) /* NOLINT(cert-env33-c) */
        skip();
    run("setfattr -n user.some -v two a/file");
    assert_false(are_alike());
    run("setfattr -n user.some -v one a/file");
    assert_true(are_alike());
}

TEST_WITH(folders_are_of_no_time, make_trees, NULL)
{
    struct stat found;
    run("touch -d @600 b/in b");
    assert_true(are_alike());
    assert_int_equal(lstat("b/in", &found), 0);
    assert_int_equal(found.st_mtim.tv_sec, 0);
    assert_int_equal(lstat("b/file", &found), 0);
    assert_int_equal(found.st_mtim.tv_sec, 500);
}

TEST_WITH(a_hole_takes_no_time, make_trees, NULL)
{
    unsigned char digest[TREE_DIGEST_SIZE];
    run("truncate -s 4T a/sparse");
    digest_of("a", digest);
}

TEST(more_data_than_may_be_read)
{
    unsigned char digest[TREE_DIGEST_SIZE];
    make_trees(state);
    errno = 0;
    assert_int_equal(tree_digest("a", strlen("data"), digest), -1);
    assert_int_equal(errno, E2BIG);
}

TEST(a_folder_that_is_not_there)
{
    unsigned char digest[TREE_DIGEST_SIZE];
    assert_int_equal(tree_digest("nowhere", TREE_BYTES_MAX, digest), -1);
    assert_int_equal(errno, ENOENT);
}

/* --- a pool --- */

/* A small btrfs with an instance whose folder has too many names. Needs root and a loop device. */
static int make_pool(void **state)
{
    bool *is_mounted = xcalloc(1, sizeof *is_mounted);
    *state = is_mounted;
    *is_mounted =
        geteuid() == 0 &&
        system("mkdir pool && truncate -s 128M disk && mkfs.btrfs -q disk && " /* NOLINT */
               "mount -o loop disk pool") == 0;
    if (*is_mounted)
        run("mkdir -p pool/containers && "
            "btrfs -q subvolume create pool/containers/p_tpl-1 && cd pool/containers/p_tpl-1 && "
            "mkdir rootfs && printf x >rootfs/file && seq -f \"%0220g\" 5000 | xargs touch --");
    return 0;
}

static int remove_pool(void **state)
{
    bool *is_mounted = *state;
    if (*is_mounted)
        run("umount pool");
    free(is_mounted);
    return 0;
}

/* A template's team decides how much work a move has with it, so it is read once. */
TEST_WITH(a_source_that_is_too_large_is_read_once, make_pool, remove_pool)
{
    struct stat found;
    bool *is_mounted = *state;
    if (!*is_mounted)
        skip();
    autofree char *instances = xasprintf("%s/pool/containers/migration", folder);
    assert_null(parent_make(instances, "tpl-1"));
    assert_int_equal(lstat("pool/sandlot-parents/p_tpl-1.too-large", &found), 0);
    /* It is small now, but it is not read again. */
    run("find pool/containers/p_tpl-1 -name '0*' -delete");
    assert_null(parent_make(instances, "tpl-1"));
    assert_int_equal(stat("pool/sandlot-parents/p_tpl-1", &found), -1);
    /* Another source with the same name is read. */
    run("btrfs -q subvolume delete pool/containers/p_tpl-1 && "
        "btrfs -q subvolume create pool/containers/p_tpl-1 && mkdir "
        "pool/containers/p_tpl-1/rootfs");
    autofree char *parent = parent_make(instances, "tpl-1");
    assert_non_null(parent);
    autofree char *source = xasprintf("%s/pool/containers/p_tpl-1", folder);
    parent_remove(source);
    assert_int_equal(lstat("pool/sandlot-parents/p_tpl-1.too-large", &found), -1);
    assert_int_equal(lstat("pool/sandlot-parents/p_tpl-1", &found), -1);
}

/* --- what a move is told --- */

static void assert_source(const char *record, const char *expected)
{
    char source[PARENT_SOURCE_SIZE];
    autofree char *snapshot = xasprintf("%s/containers/it", folder);
    FILE *file = fopen("containers/it/backup.yaml", "w");
    assert_non_null(file);
    assert_true(fputs(record, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(parent_source_of(snapshot, source), expected != NULL);
    if (expected)
        assert_string_equal(source, expected);
}

TEST(the_record_names_the_source)
{
    char source[PARENT_SOURCE_SIZE];
    run("mkdir -p containers/it volume");
    assert_source("container:\n  config:\n    user.sandlot.parent: tpl-01\n  x: y\n", "tpl-01");
    assert_source("    user.sandlot.parent: tpl-01", "tpl-01");
    assert_source("container:\n  config:\n    user.sandlot.role: sandbox\n", NULL);
    assert_source("    user.sandlot.parent: \n    user.sandlot.parent: tpl-01\n", NULL);
    assert_source("    user.sandlot.parent: ../tpl-01\n", NULL);
    assert_source("    user.sandlot.parent: \"tpl-01\"\n", NULL);
    assert_source("    x.user.sandlot.parent: tpl-01\n", NULL);
    assert_source("    user.sandlot.parent: "
                  "tpl-0123456789012345678901234567890123456789012345678901234567890123\n",
                  NULL);
    run("echo '    user.sandlot.parent: tpl-01' | tee volume/backup.yaml "
        ">containers/it/backup.yaml");
    autofree char *snapshot = xasprintf("%s/containers/it", folder);
    autofree char *volume = xasprintf("%s/volume", folder);
    assert_true(parent_source_of(snapshot, source));
    assert_false(parent_source_of(volume, source));
    run("rm containers/it/backup.yaml");
    assert_false(parent_source_of(snapshot, source));
}

/* --- notes --- */

/* What is left of a stream after all that comes before `receive`. */
static size_t left_of(const char *stream, size_t size, char *left, size_t room)
{
    int ends[2], own = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], stream, size), size);
    close(ends[1]);
    assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
    close(ends[0]);
    transfer_prepare_receive("/nowhere/containers/migration.1");
    ssize_t count = read(STDIN_FILENO, left, room);
    assert_true(count >= 0);
    dup2(own, STDIN_FILENO);
    close(own);
    return (size_t)count;
}

TEST(a_note_is_taken_from_a_stream)
{
    static const char note[] = "sandlot-parent tpl-01";
    char stream[15 + PARENT_SOURCE_SIZE + 12] = {0}, left[sizeof stream];
    memcpy(stream, note, sizeof note);
    memcpy(stream + 15 + PARENT_SOURCE_SIZE, "btrfs-stream", 12);
    assert_int_equal(left_of(stream, sizeof stream, left, sizeof left), 12);
    assert_memory_equal(left, "btrfs-stream", 12);
}

TEST(a_stream_without_a_note_stays_whole)
{
    static const char *const streams[] = {"btrfs-stream and what follows", "short", ""};
    char left[64];
    for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
        size_t size = strlen(streams[i]);
        assert_int_equal(left_of(streams[i], size, left, sizeof left), size);
        assert_memory_equal(left, streams[i], size);
    }
}

TEST_GROUP(make_folder, remove_folder)
