/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "crypto/mac.h"
#include "unit/keyring.h"

TEST(depends_on_everything)
{
    error_auto err = NULL;
    struct keyring *ring = unit_keyring(UNIT_KEY_1 UNIT_KEY_2);
    unsigned char mac[MAC_BYTES], other[MAC_BYTES];
    assert_ok(mac_compute(ring, 1, KEY_PURPOSE_SESSION, "abc", 3, mac, &err));
    assert_ok(mac_compute(ring, 1, KEY_PURPOSE_SESSION, "abc", 3, other, &err));
    assert_true(mac_equal(mac, other));
    assert_ok(mac_compute(ring, 2, KEY_PURPOSE_SESSION, "abc", 3, other, &err));
    assert_false(mac_equal(mac, other));
    assert_ok(mac_compute(ring, 1, KEY_PURPOSE_API_KEY, "abc", 3, other, &err));
    assert_false(mac_equal(mac, other));
    assert_ok(mac_compute(ring, 1, KEY_PURPOSE_SESSION, "abd", 3, other, &err));
    assert_false(mac_equal(mac, other));
    assert_ok(mac_compute(ring, 1, KEY_PURPOSE_SESSION, NULL, 0, other, &err));
    assert_false(mac_equal(mac, other));
    assert_fails_saying(mac_compute(ring, 3, KEY_PURPOSE_SESSION, "abc", 3, other, &err),
                        ERR_CONFIG, "no key 3");
    keyring_free(ring);
}

TEST(sees_each_bit)
{
    unsigned char a[MAC_BYTES] = {0}, b[MAC_BYTES] = {0};
    assert_true(mac_equal(a, b));
    for (int bit = 0; bit < MAC_BYTES * 8; bit++) {
        b[bit / 8] = (unsigned char)(1 << bit % 8);
        assert_false(mac_equal(a, b));
        b[bit / 8] = 0;
    }
}

TEST(spells_base64)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        {"", ""},        {"f", "Zg"},        {"fo", "Zm8"},
        {"foo", "Zm9v"}, {"foob", "Zm9vYg"}, {"\xfb\xff\xbf", "-_-_"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t size = strlen(cases[i].bytes);
        char text[16], bytes[16];
        assert_true(BASE64_SIZE(size) == strlen(cases[i].text) + 1);
        base64url_encode(cases[i].bytes, size, text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(base64url_decode(text, bytes, size), size);
        assert_memory_equal(bytes, cases[i].bytes, size);
    }
}

TEST(reads_exact_base64_only)
{
    static const char *const refused[] = {
        "Zg==", "Z", "Zm9v\n", " Zm9v", "Zm 9v", "Zm+v", "Zm/v", "Zm9v=", "Zh", "Zm9", "Z\xc3\xa9",
    };
    char bytes[16];
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        if (base64url_decode(refused[i], bytes, sizeof bytes) != -1)
            fail_msg("\"%s\" was decoded", refused[i]);
    assert_int_equal(base64url_decode("Zm9v", bytes, 2), -1);
    assert_int_equal(base64url_decode("Zm9v", bytes, 3), 3);
}

TEST(spells_hex)
{
    error_auto err = NULL;
    struct keyring *ring = unit_keyring(UNIT_KEY_1 UNIT_KEY_2);
    unsigned char mac[MAC_BYTES];
    char hex[MAC_HEX_SIZE], expected[MAC_HEX_SIZE];
    assert_ok(mac_compute(ring, 2, KEY_PURPOSE_AGENT, "sandbox-1", 9, mac, &err));
    for (size_t i = 0; i < sizeof mac; i++)
        snprintf(expected + 2 * i, 3, "%02x", mac[i]);
    assert_ok(mac_hex(ring, 2, KEY_PURPOSE_AGENT, "sandbox-1", hex, &err));
    assert_string_equal(hex, expected);
    assert_fails_saying(mac_hex(ring, 3, KEY_PURPOSE_AGENT, "sandbox-1", hex, &err), ERR_CONFIG,
                        "no key 3");
    keyring_free(ring);
}

TEST(fills_with_noise)
{
    unsigned char a[32] = {0}, b[32] = {0};
    random_fill(a, sizeof a);
    random_fill(b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
}
