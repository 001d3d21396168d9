/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <string.h>

#include "crypto/lockbox.h"

static const char secret[] = "1 of the keys";

static void check_opens(const struct lockbox_with *close, const struct lockbox_with *open)
{
    error_auto err = NULL;
    struct buffer locked = BUFFER_INIT(4096), plain = BUFFER_INIT(4096);
    assert_ok(lockbox_close(close, secret, sizeof secret, &locked, &err));
    assert_null(memmem(locked.data, locked.size, secret, strlen(secret)));
    assert_ok(lockbox_open(open, locked.data, locked.size, &plain, &err));
    assert_int_equal(plain.size, sizeof secret);
    assert_memory_equal(plain.data, secret, sizeof secret);

    buffer_clear(&plain);
    locked.data[locked.size - 1] ^= 1;
    assert_fails_saying(lockbox_open(open, locked.data, locked.size, &plain, &err), ERR_CONFIG,
                        "cannot decrypt the data");
    error_clear(&err);
    locked.data[locked.size - 1] ^= 1;
    assert_fails_saying(lockbox_open(open, locked.data, locked.size - 1, &plain, &err), ERR_CONFIG,
                        "cannot decrypt the data");
    error_clear(&err);
    assert_fails_saying(lockbox_open(open, locked.data, 20, &plain, &err), ERR_CONFIG,
                        "cannot decrypt the data");
    error_clear(&err);
    assert_fails_saying(lockbox_open(open, secret, sizeof secret, &plain, &err), ERR_CONFIG,
                        "not a file that sandlotctl has encrypted");
    buffer_deinit(&locked);
    buffer_wipe(&plain);
}

TEST(opens_with_its_passphrase)
{
    struct lockbox_with with = {.passphrase = "correct horse"};
    check_opens(&with, &with);
}

TEST(opens_with_the_private_key)
{
    char private_key[LOCKBOX_KEY_SIZE], public_key[LOCKBOX_KEY_SIZE];
    lockbox_new_pair(private_key, public_key);
    check_opens(&(struct lockbox_with){.key = public_key},
                &(struct lockbox_with){.key = private_key});
}

TEST(opens_with_nothing_else)
{
    error_auto err = NULL;
    char private_key[LOCKBOX_KEY_SIZE], public_key[LOCKBOX_KEY_SIZE], other[LOCKBOX_KEY_SIZE];
    struct lockbox_with passphrase = {.passphrase = "one"}, wrong = {.passphrase = "two"},
                        to = {.key = public_key}, by_public = {.key = public_key},
                        bad = {.key = "12ab"};
    struct buffer locked = BUFFER_INIT(4096), plain = BUFFER_INIT(4096);
    lockbox_new_pair(private_key, public_key);
    assert_ok(lockbox_close(&passphrase, secret, sizeof secret, &locked, &err));
    assert_fails_saying(lockbox_open(&wrong, locked.data, locked.size, &plain, &err), ERR_CONFIG,
                        "the passphrase is wrong");
    error_clear(&err);
    assert_fails_saying(lockbox_open(&to, locked.data, locked.size, &plain, &err), ERR_CONFIG,
                        "with a passphrase");
    error_clear(&err);
    buffer_clear(&locked);
    assert_ok(lockbox_close(&to, secret, sizeof secret, &locked, &err));
    assert_fails_saying(lockbox_open(&by_public, locked.data, locked.size, &plain, &err),
                        ERR_CONFIG, "the key is wrong");
    error_clear(&err);
    lockbox_new_pair(other, public_key);
    to.key = other;
    assert_fails_saying(lockbox_open(&to, locked.data, locked.size, &plain, &err), ERR_CONFIG,
                        "the key is wrong");
    error_clear(&err);
    assert_fails_saying(lockbox_close(&bad, secret, sizeof secret, &locked, &err), ERR_CONFIG,
                        "64 hexadecimal");
    buffer_deinit(&locked);
    buffer_wipe(&plain);
}
