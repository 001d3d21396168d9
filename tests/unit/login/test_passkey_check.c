/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A software authenticator answers; each check has one answer that only this check refuses. */
#include "unit/unit.h"

#include <fido.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <sodium.h>

#include "base/mem.h"
#include "crypto/mac.h"
#include "login/passkey_check.h"

#define ORIGIN    "https://console.example.com:8443"
#define HOST      "console.example.com"
#define CHALLENGE "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define ID        "0123456789abcdef"
#define PRESENT   0x01
#define VERIFIED  0x04
#define KEY       0x40

static const struct passkey_expected expected = {ORIGIN, HOST, CHALLENGE};
static EVP_PKEY *keys[PASSKEY_ALGORITHMS], *other;

static int set_up(void **state)
{
    keys[0] = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    keys[1] = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    keys[2] = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
    other = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    return keys[0] && keys[1] && keys[2] && other ? 0 : -1;
}

static int tear_down(void **state)
{
    for (unsigned i = 0; i < PASSKEY_ALGORITHMS; i++)
        EVP_PKEY_free(keys[i]);
    EVP_PKEY_free(other);
    return 0;
}

/* Changes of a test to a good answer; 0 and NULL: no change. */
struct change {
    const char *type, *challenge, *origin, *more, *host, *client_data;
    int flags, extra, cut;
    EVP_PKEY *signer;
};

struct answer {
    unsigned char data[1024], signature[512];
    size_t size;
    char client_data[1024], data_text[2048], signature_text[1024];
    struct passkey_answer parts;
};

static size_t put_number(unsigned char *out, EVP_PKEY *key, const char *name, int size)
{
    BIGNUM *number = NULL;
    assert_true(EVP_PKEY_get_bn_param(key, name, &number));
    assert_int_equal(BN_bn2binpad(number, out, size), size);
    BN_free(number);
    return (size_t)size;
}

static size_t put(unsigned char *out, const char *bytes, size_t size)
{
    memcpy(out, bytes, size);
    return size;
}
#define PUT(out, literal) put(out, literal, sizeof literal - 1)

/* The key as CBOR (COSE_Key). */
static size_t put_key(unsigned char *out, unsigned kind)
{
    unsigned char *at = out;
    size_t size = 32;
    switch (kind) {
    case 0:
        at += PUT(at, "\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20");
        at += put_number(at, keys[0], OSSL_PKEY_PARAM_EC_PUB_X, 32);
        at += PUT(at, "\x22\x58\x20");
        at += put_number(at, keys[0], OSSL_PKEY_PARAM_EC_PUB_Y, 32);
        break;
    case 1:
        at += PUT(at, "\xa4\x01\x01\x03\x27\x20\x06\x21\x58\x20");
        assert_int_equal(EVP_PKEY_get_raw_public_key(keys[1], at, &size), 1);
        at += size;
        break;
    default:
        at += PUT(at, "\xa4\x01\x03\x03\x39\x01\x00\x20\x59\x01\x00");
        at += put_number(at, keys[2], OSSL_PKEY_PARAM_RSA_N, 256);
        at += PUT(at, "\x21\x43");
        at += put_number(at, keys[2], OSSL_PKEY_PARAM_RSA_E, 3);
    }
    return (size_t)(at - out);
}

static void put_client_data(struct answer *answer, const char *type, const struct change *change)
{
    autofree char *json = xasprintf(
        "{\"type\":\"%s\",\"challenge\":\"%s\",\"origin\":\"%s\"%s}",
        change->type ? change->type : type, change->challenge ? change->challenge : CHALLENGE,
        change->origin ? change->origin : ORIGIN, change->more ? change->more : "");
    const char *text = change->client_data ? change->client_data : json;
    base64url_encode(text, strlen(text), answer->client_data);
    crypto_hash_sha256(answer->data + answer->size, (const unsigned char *)text, strlen(text));
}

static void put_head(struct answer *answer, int flags, const struct change *change)
{
    const char *host = change->host ? change->host : HOST;
    crypto_hash_sha256(answer->data, (const unsigned char *)host, strlen(host));
    answer->data[32] = (unsigned char)(change->flags ? change->flags : flags);
    answer->size = 33 + PUT(answer->data + 33, "\0\0\1\7");
}

static struct passkey_answer *finish(struct answer *answer)
{
    base64url_encode(answer->data, answer->size, answer->data_text);
    answer->parts =
        (struct passkey_answer){answer->client_data, answer->data_text, answer->signature_text};
    return &answer->parts;
}

static struct passkey_answer *create(struct answer *answer, unsigned kind,
                                     const struct change *change)
{
    put_head(answer, PRESENT | VERIFIED | KEY, change);
    answer->size += PUT(answer->data + answer->size, "an authenticator\0\x10" ID);
    answer->size += put_key(answer->data + answer->size, kind);
    answer->size -= (size_t)change->cut;
    put_client_data(answer, "webauthn.create", change);
    return finish(answer);
}

static struct passkey_answer *sign(struct answer *answer, unsigned kind,
                                   const struct change *change)
{
    size_t size = sizeof answer->signature;
    put_head(answer, PRESENT | VERIFIED, change);
    answer->size += (size_t)change->extra;
    put_client_data(answer, "webauthn.get", change); /* its hash follows, and is signed too */
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY *key = change->signer ? change->signer : keys[kind];
    assert_int_equal(EVP_DigestSignInit(context, NULL, kind == 1 ? NULL : EVP_sha256(), NULL, key),
                     1);
    assert_int_equal(
        EVP_DigestSign(context, answer->signature, &size, answer->data, answer->size + 32), 1);
    EVP_MD_CTX_free(context);
    base64url_encode(answer->signature, size, answer->signature_text);
    return finish(answer);
}

static struct passkey_key key_of(unsigned kind)
{
    struct answer answer = {0};
    struct passkey_key key;
    const char *reason =
        passkey_read_new(&expected, create(&answer, kind, &(struct change){0}), &key);
    if (reason)
        fail_msg("%s", reason);
    return key;
}

static void creates(const struct change *change, const char *reason)
{
    struct answer answer = {0};
    struct passkey_key key;
    const char *got = passkey_read_new(&expected, create(&answer, 0, change), &key);
    assert_string_equal(got ? got : "", reason);
}

static void signs(const struct change *change, const char *reason)
{
    struct answer answer = {0};
    struct passkey_key key = key_of(0);
    uint32_t count;
    const char *got = passkey_verify(&expected, sign(&answer, 0, change), &key, &count);
    assert_string_equal(got ? got : "", reason);
}

TEST(each_algorithm_creates_and_signs)
{
    for (unsigned i = 0; i < PASSKEY_ALGORITHMS; i++) {
        struct answer answer = {0};
        struct passkey_key key = key_of(i);
        uint32_t count = 0;
        assert_int_equal(key.algorithm, passkey_algorithms[i]);
        assert_int_equal(key.id_size, strlen(ID));
        assert_memory_equal(key.id, ID, strlen(ID));
        assert_int_equal(key.sign_count, 0x107);
        assert_null(passkey_verify(&expected, sign(&answer, i, &(struct change){0}), &key, &count));
        assert_int_equal(count, 0x107);
        answer.parts.authenticator_data = "";
        assert_non_null(passkey_verify(&expected, &answer.parts, &key, &count));
    }
}

#define BOTH(reason, ...)                           \
    creates(&(struct change){__VA_ARGS__}, reason); \
    signs(&(struct change){__VA_ARGS__}, reason)

TEST(client_data_are_of_this_request)
{
    BOTH("", .more = ",\"crossOrigin\":false,\"other\":1");
    BOTH("the challenge is another one",
         .challenge = "BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    BOTH("the origin is not the console's", .origin = "https://console.example.com");
    BOTH("the origin is not the console's", .origin = "https://Console.example.com:8443");
    BOTH("the origin is not the console's", .origin = ORIGIN "/");
    BOTH("the request came from a frame of another origin", .more = ",\"crossOrigin\":true");
    BOTH("the request came from a frame of another origin", .more = ",\"crossOrigin\":\"no\"");
    BOTH("the request came from a frame of another origin",
         .more = ",\"topOrigin\":\"" ORIGIN "\"");
    BOTH("the client data are no JSON", .client_data = "type");
    BOTH("the client data are no JSON", .more = ",\"origin\":\"" ORIGIN "\"");
    BOTH("the client data have another type", .client_data = "{}");
    creates(&(struct change){.type = "webauthn.get"}, "the client data have another type");
    signs(&(struct change){.type = "webauthn.create"}, "the client data have another type");
}

TEST(the_authenticator_is_of_this_host_and_has_verified_its_user)
{
    BOTH("the passkey is of another host", .host = "example.com");
    BOTH("the authenticator did not verify its user", .flags = PRESENT | KEY);
    BOTH("the authenticator did not verify its user", .flags = VERIFIED | KEY);
}

TEST(new_keys_are_whole_and_known)
{
    const char *none = "the authenticator data have no key that sandlot knows";
    creates(&(struct change){.flags = PRESENT | VERIFIED}, none);
    creates(&(struct change){.cut = 1}, none);
    struct answer answer = {0};
    struct passkey_key key;
    create(&answer, 0, &(struct change){0});
    answer.data[33 + 4 + 16 + 2 + strlen(ID) + 4] = 0x25; /* another algorithm of COSE: -6 */
    assert_string_equal(passkey_read_new(&expected, finish(&answer), &key), none);
}

TEST(a_sign_in_has_no_cbor)
{
    const char *parts = "the authenticator data have a key or extensions";
    signs(&(struct change){.flags = PRESENT | VERIFIED | KEY}, parts);
    signs(&(struct change){.flags = PRESENT | VERIFIED | 0x80}, parts);
    signs(&(struct change){.extra = 1}, parts);
}

TEST(only_the_key_of_the_passkey_signs)
{
    signs(&(struct change){.signer = other}, "the signature is wrong");
    struct answer answer = {0};
    struct passkey_key key = key_of(0);
    uint32_t count;
    sign(&answer, 0, &(struct change){0});
    answer.data[36]++; /* the counter is signed */
    assert_string_equal(passkey_verify(&expected, finish(&answer), &key, &count),
                        "the signature is wrong");
    key.algorithm = COSE_EDDSA;
    sign(&answer, 0, &(struct change){0});
    assert_string_equal(passkey_verify(&expected, &answer.parts, &key, &count),
                        "the signature is wrong");
}

TEST_GROUP(set_up, tear_down)
