/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "crypto/aead.h"
#include "unit/keyring.h"

static struct keyring *ring;

static int make_ring(void **state)
{
    ring = unit_keyring(UNIT_KEY_1);
    return 0;
}

static int free_ring(void **state)
{
    keyring_free(ring);
    return 0;
}

TEST(opens_what_was_sealed)
{
    static const char secret[] = "{\"TOKEN\":\"s3cr3t\0with a NUL\"}";
    error_auto err = NULL;
    buffer_auto sealed = BUFFER_INIT(1000);
    buffer_auto plain = BUFFER_INIT(1000);
    buffer_append_string(&sealed, "before");
    buffer_append_string(&plain, "kept");
    assert_ok(aead_seal(ring, secret, sizeof secret, "sbx_1", &sealed, &err));
    assert_int_equal(sealed.size, 6 + 1 + 2 + 24 + sizeof secret + 16);
    assert_null(memmem(sealed.data, sealed.size, "s3cr3t", 6));
    assert_ok(aead_open(ring, sealed.data + 6, sealed.size - 6, "sbx_1", &plain, &err));
    assert_int_equal(plain.size, 4 + sizeof secret);
    assert_memory_equal(plain.data, "kept", 4);
    assert_memory_equal(plain.data + 4, secret, sizeof secret);
}

TEST(seals_nothing)
{
    error_auto err = NULL;
    buffer_auto sealed = BUFFER_INIT(1000);
    buffer_auto plain = BUFFER_INIT(1000);
    assert_ok(aead_seal(ring, NULL, 0, "", &sealed, &err));
    assert_ok(aead_open(ring, sealed.data, sealed.size, "", &plain, &err));
    assert_int_equal(plain.size, 0);
}

TEST(never_seals_alike)
{
    error_auto err = NULL;
    buffer_auto one = BUFFER_INIT(1000);
    buffer_auto two = BUFFER_INIT(1000);
    assert_ok(aead_seal(ring, "x", 1, "sbx_1", &one, &err));
    assert_ok(aead_seal(ring, "x", 1, "sbx_1", &two, &err));
    assert_memory_not_equal(one.data, two.data, one.size);
}

TEST(refuses_each_changed_bit)
{
    error_auto err = NULL;
    buffer_auto sealed = BUFFER_INIT(1000);
    buffer_auto plain = BUFFER_INIT(1000);
    assert_ok(aead_seal(ring, "envs", 4, "sbx_1", &sealed, &err));
    for (size_t bit = 0; bit < sealed.size * 8; bit++) {
        sealed.data[bit / 8] ^= (char)(1 << bit % 8);
        assert_fails(aead_open(ring, sealed.data, sealed.size, "sbx_1", &plain, &err),
                     ERR_INTERNAL);
        error_clear(&err);
        sealed.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    assert_int_equal(plain.size, 0);
    assert_ok(aead_open(ring, sealed.data, sealed.size, "sbx_1", &plain, &err));
}

TEST(refuses_each_shorter_one)
{
    error_auto err = NULL;
    buffer_auto sealed = BUFFER_INIT(1000);
    buffer_auto plain = BUFFER_INIT(1000);
    assert_ok(aead_seal(ring, "envs", 4, "sbx_1", &sealed, &err));
    for (size_t size = 0; size < sealed.size; size++) {
        assert_fails(aead_open(ring, sealed.data, size, "sbx_1", &plain, &err), ERR_INTERNAL);
        error_clear(&err);
    }
    buffer_append_char(&sealed, 'x');
    assert_fails_saying(aead_open(ring, sealed.data, sealed.size, "sbx_1", &plain, &err),
                        ERR_INTERNAL, "changed");
    assert_int_equal(plain.size, 0);
}

TEST(refuses_what_was_moved_to_another_row)
{
    error_auto err = NULL;
    buffer_auto sealed = BUFFER_INIT(1000);
    buffer_auto plain = BUFFER_INIT(1000);
    assert_ok(aead_seal(ring, "envs", 4, "sbx_1", &sealed, &err));
    assert_fails_saying(aead_open(ring, sealed.data, sealed.size, "sbx_2", &plain, &err),
                        ERR_INTERNAL, "was encrypted for another place");
    assert_fails_saying(aead_open(ring, sealed.data, sealed.size, "", &plain, &err), ERR_INTERNAL,
                        "was encrypted for another place");
}

TEST(outlives_a_rotation)
{
    error_auto err = NULL;
    buffer_auto old = BUFFER_INIT(1000);
    buffer_auto new = BUFFER_INIT(1000);
    buffer_auto plain = BUFFER_INIT(1000);
    struct keyring *rotated = unit_keyring(UNIT_KEY_1 UNIT_KEY_2),
                   *only_new = unit_keyring(UNIT_KEY_2);
    assert_ok(aead_seal(ring, "old", 3, "a", &old, &err));
    assert_ok(aead_seal(rotated, "new", 3, "a", &new, &err));
    assert_ok(aead_open(rotated, old.data, old.size, "a", &plain, &err));
    assert_ok(aead_open(rotated, new.data, new.size, "a", &plain, &err));
    assert_string_equal(buffer_string(&plain), "oldnew");
    assert_fails_saying(aead_open(only_new, old.data, old.size, "a", &plain, &err), ERR_INTERNAL,
                        "no key 1");
    keyring_free(rotated);
    keyring_free(only_new);
}

/* Sealed by the first release: every later one must open it. */
TEST(opens_the_first_format)
{
    static const unsigned char sealed[] = {
        0x01, 0x00, 0x01, 0x2a, 0xd9, 0xfe, 0x6d, 0x6a, 0x3a, 0x41, 0x57, 0x68,
        0x3f, 0x49, 0x74, 0x33, 0x9a, 0x6c, 0x7a, 0xcd, 0xae, 0x1f, 0xf5, 0x16,
        0x1b, 0x17, 0xf4, 0x6b, 0x81, 0x4c, 0xf3, 0x6f, 0xfc, 0x41, 0x15, 0xbc,
        0x50, 0x09, 0x06, 0x24, 0x88, 0x07, 0xd2, 0x24, 0x7a, 0x35};
    error_auto err = NULL;
    buffer_auto plain = BUFFER_INIT(1000);
    assert_ok(aead_open(ring, sealed, sizeof sealed, "sbx_1", &plain, &err));
    assert_string_equal(buffer_string(&plain), "A=1");
}

TEST(holds_to_its_limits)
{
    error_auto err = NULL;
    buffer_auto small = BUFFER_INIT(46);
    assert_ok(aead_seal(ring, "123", 3, "a", &small, &err));
    buffer_auto plain = BUFFER_INIT(2);
    assert_fails_saying(aead_open(ring, small.data, small.size, "a", &plain, &err), ERR_INTERNAL,
                        "too large");
    buffer_auto tiny = BUFFER_INIT(45);
    assert_fails_saying(aead_seal(ring, "123", 3, "a", &tiny, &err), ERR_INTERNAL, "too large");
    assert_fails_saying(aead_seal(ring, "", AEAD_DATA_MAX + 1, "a", &tiny, &err), ERR_INTERNAL,
                        "too large");

    static char endless[AEAD_ASSOCIATED_MAX + 2];
    memset(endless, 'a', sizeof endless - 1);
    buffer_auto sealed = BUFFER_INIT(1000);
    assert_fails_saying(aead_seal(ring, "1", 1, endless, &sealed, &err), ERR_INTERNAL, "too long");
    assert_int_equal(sealed.size, 0);
}

TEST_GROUP(make_ring, free_ring)
