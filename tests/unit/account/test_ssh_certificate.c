/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SSH certificates, made here field by field. */
#include "unit/unit.h"

#include <sodium.h>
#include <string.h>

#include "account/ssh_certificate.h"
#include "base/big_endian.h"
#include "base/buffer.h"
#include "base/mem.h"
#include "crypto/mac.h"

#define NOW_MS 1000000000LL

static unsigned char public_key[crypto_sign_PUBLICKEYBYTES];
static unsigned char private_key[crypto_sign_SECRETKEYBYTES];
static struct ssh_authorities authorities;

struct contents {
    uint32_t kind;
    uint64_t valid_from_s, valid_until_s;
    const char *principals[3];
    const char *option, *extension;
    const char *type;
    size_t key_size;
};

static const struct contents usual = {
    .kind = 1,
    .valid_from_s = 999999,
    .valid_until_s = 1000001,
    .principals = {"web", "user:alice", "root"},
    .extension = "permit-pty",
    .type = "ssh-ed25519-cert-v01@openssh.com",
    .key_size = 32,
};

static void add_number(struct buffer *out, size_t size, uint64_t value)
{
    unsigned char bytes[8];
    be_put(bytes, size, value);
    buffer_append(out, bytes, size);
}

static void add_piece(struct buffer *out, const void *data, size_t size)
{
    add_number(out, 4, size);
    buffer_append(out, data, size);
}

static void add_text(struct buffer *out, const char *text)
{
    add_piece(out, text, strlen(text));
}

/* Options and extensions: names with a value, which is empty. */
static void add_names(struct buffer *out, const char *name)
{
    buffer_auto names = BUFFER_INIT(1024);
    if (name) {
        add_text(&names, name);
        add_text(&names, "");
    }
    add_piece(out, names.data, names.size);
}

static void add_principals(struct buffer *out, const struct contents *contents)
{
    buffer_auto names = BUFFER_INIT(1024);
    for (size_t i = 0; i < ARRAY_SIZE(contents->principals); i++)
        if (contents->principals[i])
            add_text(&names, contents->principals[i]);
    add_piece(out, names.data, names.size);
}

static void add_typed(struct buffer *out, const unsigned char *data, size_t size)
{
    buffer_auto typed = BUFFER_INIT(1024);
    add_text(&typed, "ssh-ed25519");
    add_piece(&typed, data, size);
    add_piece(out, typed.data, typed.size);
}

static void make(const struct contents *contents, struct buffer *out)
{
    const unsigned char zeros[64] = {0};
    unsigned char signature[crypto_sign_BYTES];
    add_text(out, contents->type);
    add_piece(out, zeros, 32);
    add_piece(out, zeros, contents->key_size);
    add_number(out, 8, 77);
    add_number(out, 4, contents->kind);
    add_text(out, "laptop");
    add_principals(out, contents);
    add_number(out, 8, contents->valid_from_s);
    add_number(out, 8, contents->valid_until_s);
    add_names(out, contents->option);
    add_names(out, contents->extension);
    add_text(out, "");
    add_typed(out, public_key, sizeof public_key);
    crypto_sign_detached(signature, NULL, (const unsigned char *)out->data, out->size, private_key);
    add_typed(out, signature, sizeof signature);
}

static int check(const void *bytes, size_t size, struct ssh_certificate *certificate,
                 struct error **err)
{
    char base64[BASE64_SIZE(2048)];
    assert_true(size <= 2048);
    sodium_bin2base64(base64, sizeof base64, bytes, size, sodium_base64_VARIANT_ORIGINAL);
    return ssh_certificate_check(&authorities, "user:", base64, NOW_MS, certificate, err);
}

TEST(a_right_one_names_its_user)
{
    struct error *err = NULL;
    struct ssh_certificate certificate;
    buffer_auto bytes = BUFFER_INIT(2048);
    make(&usual, &bytes);
    assert_ok(check(bytes.data, bytes.size, &certificate, &err));
    assert_string_equal(certificate.user_name, "alice");
    assert_string_equal(certificate.label, "laptop");
    assert_int_equal(certificate.serial, 77);
    assert_true(certificate.allows_terminals && !certificate.allows_ports);
    assert_ptr_equal(certificate.authority, &authorities.list[0]);
}

static void assert_refused(const struct contents *contents, const char *why)
{
    struct error *err = NULL;
    struct ssh_certificate certificate;
    buffer_auto bytes = BUFFER_INIT(2048);
    make(contents, &bytes);
    assert_fails_saying(check(bytes.data, bytes.size, &certificate, &err), ERR_UNAUTHORIZED, why);
}

TEST(each_condition_is_looked_at)
{
    struct contents wrong = usual;
    wrong.kind = 2;
    assert_refused(&wrong, "not a user certificate");
    wrong = usual, wrong.valid_from_s = 1000001;
    assert_refused(&wrong, "not valid yet");
    wrong = usual, wrong.valid_until_s = 1000000;
    assert_refused(&wrong, "expired");
    wrong = usual, wrong.option = "source-address";
    assert_refused(&wrong, "critical options");
    wrong = usual, wrong.principals[1] = "alice";
    assert_refused(&wrong, "no principal");
    wrong = usual, wrong.principals[1] = "user:../alice";
    assert_refused(&wrong, "no principal");
    wrong = usual, wrong.principals[2] = "user:bob";
    assert_refused(&wrong, "more than one");
    wrong = usual, wrong.type = "ssh-ed25519";
    assert_refused(&wrong, "damaged");
    wrong = usual, wrong.type = "ssh-dss-cert-v01@openssh.com";
    assert_refused(&wrong, "damaged");
    wrong = usual, wrong.key_size = 31;
    assert_refused(&wrong, "damaged");
}

TEST(what_is_cut_or_changed_anywhere_is_refused)
{
    struct ssh_certificate certificate;
    buffer_auto bytes = BUFFER_INIT(2048);
    make(&usual, &bytes);
    unsigned char copy[2048];
    for (size_t i = 0; i < bytes.size; i++) {
        struct error *err = NULL;
        assert_fails_saying(check(bytes.data, i, &certificate, &err), ERR_UNAUTHORIZED, "");
        memcpy(copy, bytes.data, bytes.size);
        copy[i] ^= 0x81;
        assert_fails_saying(check(copy, bytes.size, &certificate, &err), ERR_UNAUTHORIZED, "");
    }
}

TEST(another_authority_is_not_believed)
{
    struct ssh_authorities nobody = {.count = 0};
    const struct ssh_authorities kept = authorities;
    authorities = nobody;
    assert_refused(&usual, "an authority that is not in");
    authorities = kept;
}

static int make_authority(void **state)
{
    if (sodium_init() < 0)
        return -1;
    crypto_sign_keypair(public_key, private_key);
    authorities.count = 1;
    memcpy(authorities.list[0].key, public_key, sizeof public_key);
    return 0;
}

TEST_GROUP(make_authority, NULL)
