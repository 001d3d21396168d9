/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "crypto/keyring_file.h"

#define KEY_A "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define KEY_B "FFEEDDCCBBAA99887766554433221100ffeeddccbbaa99887766554433221100"

static char directory[] = "/tmp/sandlot-test-keyring-XXXXXX";
static char path[64];

static int make_directory(void **state)
{
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/keyring", directory);
    return 0;
}

static int remove_directory(void **state)
{
    unlink(path);
    return rmdir(directory);
}

static int remove_file(void **state)
{
    unlink(path);
    return 0;
}

static void write_file(const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static char *read_file(void)
{
    static char text[8192];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t size = read(fd, text, sizeof text - 1);
    assert_true(size >= 0);
    text[size] = '\0';
    close(fd);
    return text;
}

static int parse(const char *text, struct keyring **ring, struct error **err)
{
    return keyring_parse(text, strlen(text), ring, err);
}

TEST(reads_keys_in_their_order)
{
    error_auto err = NULL;
    struct keyring *ring = NULL;
    assert_ok(parse("# ring\n\n9 " KEY_A "\r\n  3\t" KEY_B "  \n#end", &ring, &err));
    assert_int_equal(keyring_newest(ring), 3); /* newest is last, whatever its number */
    unsigned char nine[32], three[32];
    assert_ok(keyring_subkey(ring, 9, KEY_PURPOSE_SEALED, nine, &err));
    assert_ok(keyring_subkey(ring, 3, KEY_PURPOSE_SEALED, three, &err));
    assert_memory_not_equal(nine, three, 32);
    assert_fails_saying(keyring_subkey(ring, 1, KEY_PURPOSE_SEALED, nine, &err), ERR_CONFIG,
                        "no key 1");
    keyring_free(ring);
}

TEST(derives_a_key_for_each_purpose)
{
    error_auto err = NULL;
    struct keyring *ring = NULL;
    unsigned char keys[KEY_PURPOSE_PAGE_TOKEN][32], again[32];
    assert_ok(parse("65535 " KEY_A, &ring, &err));
    for (int i = 0; i < KEY_PURPOSE_PAGE_TOKEN; i++) {
        assert_ok(keyring_subkey(ring, 65535, (enum key_purpose)(i + 1), keys[i], &err));
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(keys[i], keys[j], 32);
    }
    assert_ok(keyring_subkey(ring, 65535, KEY_PURPOSE_SESSION, again, &err));
    assert_memory_equal(again, keys[KEY_PURPOSE_SESSION - 1], 32);
    keyring_free(ring);
}

/* What is sealed must still open with the next release: the derivation is part of the format. */
TEST(derives_what_it_always_did)
{
    static const unsigned char expected[32] = {
        0x63, 0x85, 0x76, 0x32, 0x02, 0x1a, 0x04, 0x84, 0xf3, 0xca, 0x59,
        0x62, 0xdb, 0x0c, 0x71, 0x22, 0x58, 0x45, 0xfc, 0xcf, 0xbc, 0x5f,
        0xe7, 0xfa, 0x46, 0x69, 0x42, 0xe5, 0xde, 0x77, 0xcf, 0x6c,
    };
    error_auto err = NULL;
    struct keyring *ring = NULL;
    unsigned char key[32];
    assert_ok(parse("1 " KEY_A, &ring, &err));
    assert_ok(keyring_subkey(ring, 1, KEY_PURPOSE_SEALED, key, &err));
    assert_memory_equal(key, expected, 32);
    keyring_free(ring);
}

TEST(refuses_broken_lines)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "no key"},
        {"# nothing\n\n", "no key"},
        {KEY_A, "line 1: it must begin"},
        {"1", "line 1: it must begin"},
        {"0 " KEY_A, "line 1: it must begin"},
        {"01 " KEY_A, "line 1: it must begin"},
        {"65536 " KEY_A, "line 1: it must begin"},
        {"99999999999999999999 " KEY_A, "line 1: it must begin"},
        {"-1 " KEY_A, "line 1: it must begin"},
        {"one " KEY_A, "line 1: it must begin"},
        {"1 \n", "line 1: the key is not"},
        {"1 " KEY_A "0", "line 1: the key is not"},
        {"1 " KEY_A "00", "line 1: the key is not"},
        {"\n1 0011", "line 2: the key is not"},
        {"1 " KEY_A " " KEY_B, "line 1: the key is not"},
        {"1 g0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
         "line 1: the key is not"},
        {"1 00112233445566778899aabbccddeeff 0112233445566778899aabbccddeeff",
         "line 1: the key is not"},
        {"1 0000000000000000000000000000000000000000000000000000000000000000", "all zeros"},
        {"1 " KEY_A "\n2 " KEY_B "\n1 " KEY_B "\n", "line 3: the id 1 is there twice"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        error_auto err = NULL;
        struct keyring *ring = NULL;
        assert_fails(parse(cases[i].text, &ring, &err), ERR_CONFIG);
        assert_null(ring);
        if (!strstr(err->message, cases[i].says))
            fail_msg("\"%s\" instead of \"%s\"", err->message, cases[i].says);
        /* No part of a key in any message. */
        assert_null(strstr(err->message, "0011"));
        assert_null(strstr(err->message, "FFEE"));
    }
}

TEST(refuses_a_nul_in_a_key)
{
    static const char text[] = "1 00112233445566778899aabbccddeeff\0"
                               "0112233445566778899aabbccddeeff0\n";
    error_auto err = NULL;
    struct keyring *ring = NULL;
    assert_fails_saying(keyring_parse(text, sizeof text - 1, &ring, &err), ERR_CONFIG, "line 1");
}

TEST(refuses_too_many_keys)
{
    static char text[(KEYRING_KEYS_MAX + 1) * 80];
    size_t used = 0;
    for (unsigned i = 1; i <= KEYRING_KEYS_MAX + 1; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%u " KEY_A "\n", i);
    error_auto err = NULL;
    struct keyring *ring = NULL;
    assert_fails_saying(parse(text, &ring, &err), ERR_CONFIG, "more than");
    *strstr(text, "65 ") = '\0';
    assert_ok(parse(text, &ring, &err));
    keyring_free(ring);
}

TEST_WITH(refuses_a_file_that_others_can_touch, NULL, remove_file)
{
    static const mode_t refused[] = {0644, 0604, 0601, 0602, 0620, 0660, 0666};
    static const mode_t accepted[] = {0600, 0640, 0400, 0440};
    error_auto err = NULL;
    struct keyring *ring = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        write_file("1 " KEY_A "\n", refused[i]);
        assert_fails_saying(keyring_load(path, &ring, &err), ERR_CONFIG, "chmod");
    }
    for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
        write_file("1 " KEY_A "\n", accepted[i]);
        assert_ok(keyring_load(path, &ring, &err));
        keyring_free(ring);
        unlink(path);
    }
}

TEST_WITH(refuses_what_is_no_file, NULL, remove_file)
{
    error_auto err = NULL;
    struct keyring *ring = NULL;
    assert_fails_saying(keyring_load(path, &ring, &err), ERR_CONFIG, "No such file");
    assert_fails_saying(keyring_load(directory, &ring, &err), ERR_CONFIG, "regular");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_fails_saying(keyring_load(path, &ring, &err), ERR_CONFIG, "regular");
}

TEST_WITH(refuses_an_endless_file, NULL, remove_file)
{
    char *text = xmalloc(70000);
    memset(text, '#', 69999);
    text[69999] = '\0';
    write_file(text, 0600);
    free(text);
    error_auto err = NULL;
    struct keyring *ring = NULL;
    assert_fails_saying(keyring_load(path, &ring, &err), ERR_CONFIG, "too large");
}

TEST_WITH(creates_once, NULL, remove_file)
{
    error_auto err = NULL;
    struct keyring *ring = NULL;
    mode_t old = umask(0);
    assert_ok(keyring_create(path, &err));
    umask(old);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_ok(keyring_load(path, &ring, &err));
    assert_int_equal(keyring_newest(ring), 1);
    keyring_free(ring);

    autofree char *before = xstrdup(read_file());
    assert_fails_saying(keyring_create(path, &err), ERR_CONFIG, "File exists");
    assert_string_equal(read_file(), before);
}

TEST_WITH(rotates, NULL, remove_file)
{
    error_auto err = NULL;
    struct keyring *ring = NULL;
    unsigned char before[32], after[32];
    write_file("7 " KEY_A "\n2 " KEY_B, 0640); /* no newline at its end */
    assert_ok(keyring_load(path, &ring, &err));
    assert_ok(keyring_subkey(ring, 7, KEY_PURPOSE_SESSION, before, &err));
    keyring_free(ring);

    assert_ok(keyring_rotate(path, &err));
    assert_ok(keyring_rotate(path, &err));
    assert_ok(keyring_load(path, &ring, &err));
    assert_int_equal(keyring_newest(ring), 9);
    assert_ok(keyring_subkey(ring, 7, KEY_PURPOSE_SESSION, after, &err));
    assert_memory_equal(before, after, 32);
    assert_ok(keyring_subkey(ring, 8, KEY_PURPOSE_SESSION, after, &err));
    assert_ok(keyring_subkey(ring, 2, KEY_PURPOSE_SESSION, after, &err));
    keyring_free(ring);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
}

TEST_WITH(knows_a_key_before_it_uses_it, NULL, remove_file)
{
    error_auto err = NULL;
    struct keyring *ring = NULL;
    struct keyring_key key;
    unsigned char before[32], after[32];
    write_file("# next\n1 " KEY_A "\n", 0640);
    assert_fails_saying(keyring_use(path, &err), ERR_CONFIG, "keyring add");
    error_clear(&err);
    assert_ok(keyring_add(path, &err));
    assert_fails_saying(keyring_add(path, &err), ERR_CONFIG, "not in use");
    error_clear(&err);
    assert_fails_saying(keyring_rotate(path, &err), ERR_CONFIG, "not in use");
    error_clear(&err);
    assert_ok(keyring_load(path, &ring, &err));
    assert_int_equal(keyring_newest(ring), 1);
    assert_true(keyring_key_at(ring, 1, &key));
    assert_int_equal(key.id, 2);
    assert_false(key.in_use);
    assert_false(keyring_key_at(ring, 2, &key));
    assert_ok(keyring_subkey(ring, 2, KEY_PURPOSE_SESSION, before, &err));
    keyring_free(ring);

    assert_ok(keyring_use(path, &err));
    assert_non_null(strstr(read_file(), "# next\n"));
    assert_ok(keyring_load(path, &ring, &err));
    assert_int_equal(keyring_newest(ring), 2);
    assert_ok(keyring_subkey(ring, 2, KEY_PURPOSE_SESSION, after, &err));
    assert_memory_equal(before, after, 32);
    keyring_free(ring);
    write_file("1 " KEY_A " next\n", 0640);
    assert_fails_saying(keyring_load(path, &ring, &err), ERR_CONFIG, "in use");
}

TEST_WITH(rotates_behind_a_link, NULL, remove_file)
{
    error_auto err = NULL;
    char link_path[80];
    struct stat info;
    snprintf(link_path, sizeof link_path, "%s/link", directory);
    write_file("1 " KEY_A "\n", 0600);
    assert_int_equal(symlink("keyring", link_path), 0);
    assert_ok(keyring_rotate(link_path, &err));
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_non_null(strstr(read_file(), "\n2 "));
    unlink(link_path);
}

static void check_file(const char *name, const char *expected, mode_t mode)
{
    error_auto err = NULL;
    struct buffer text = BUFFER_INIT(1 << 16);
    struct stat info;
    assert_ok(keyring_read_text(name, &text, &err));
    assert_string_equal(buffer_string(&text), expected);
    assert_int_equal(stat(name, &info), 0);
    assert_int_equal(info.st_mode & 07777, mode);
    buffer_wipe(&text);
}

TEST_WITH(puts_a_text_in_its_place, NULL, remove_file)
{
    error_auto err = NULL;
    struct buffer text = BUFFER_INIT(4096);
    autofree char *before = xasprintf("%s.before", path);
    bool replaced = true;
    buffer_append_string(&text, "1 " KEY_A "\n");
    assert_ok(keyring_put_text(path, &text, &replaced, &err));
    assert_false(replaced);
    check_file(path, "1 " KEY_A "\n", 0600);
    assert_ok(keyring_put_text(path, &text, &replaced, &err));
    assert_false(replaced);
    assert_int_not_equal(access(before, F_OK), 0);

    unlink(path);
    write_file("7 " KEY_B "\n", 0640);
    assert_ok(keyring_put_text(path, &text, &replaced, &err));
    assert_true(replaced);
    check_file(path, "1 " KEY_A "\n", 0640);
    check_file(before, "7 " KEY_B "\n", 0640);
    unlink(before);

    buffer_append_string(&text, "what is none\n");
    assert_fails_saying(keyring_put_text(path, &text, &replaced, &err), ERR_CONFIG, "line 2");
    check_file(path, "1 " KEY_A "\n", 0640);
    buffer_wipe(&text);
}

TEST_WITH(refuses_to_rotate_what_it_cannot_read, NULL, remove_file)
{
    error_auto err = NULL;
    write_file("1 abc\n", 0600);
    assert_fails_saying(keyring_rotate(path, &err), ERR_CONFIG, "line 1");
    assert_string_equal(read_file(), "1 abc\n");
    write_file("65535 " KEY_A "\n", 0600);
    assert_fails_saying(keyring_rotate(path, &err), ERR_CONFIG, "no room");
    unlink(path);
    assert_fails_saying(keyring_rotate(path, &err), ERR_CONFIG, "No such file");
}

TEST_GROUP(make_directory, remove_directory)
