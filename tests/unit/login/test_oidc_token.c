/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>

#include "base/mem.h"
#include "crypto/mac.h"
#include "login/oidc_token.h"

#define NOW_S 1800000000

static EVP_PKEY *rsa, *other_rsa, *small_rsa, *ec;
static json_t *keys; /* of rsa ("r") and ec ("e") */

static const struct oidc_expected expected = {"https://idp.example", "client", "nonce-1",
                                              (int64_t)NOW_S * 1000};

static void put_number(json_t *key, const char *name, EVP_PKEY *pkey, const char *parameter,
                       int size)
{
    unsigned char bytes[1024];
    char text[BASE64_SIZE(sizeof bytes)];
    BIGNUM *number = NULL;
    assert_true(EVP_PKEY_get_bn_param(pkey, parameter, &number));
    size = size ? size : BN_num_bytes(number);
    assert_int_equal(BN_bn2binpad(number, bytes, size), size);
    base64url_encode(bytes, (size_t)size, text);
    json_object_set_new(key, name, json_string(text));
    BN_free(number);
}

static json_t *rsa_jwk(EVP_PKEY *pkey, const char *id)
{
    json_t *key = json_pack("{s:s, s:s, s:s}", "kty", "RSA", "kid", id, "use", "sig");
    put_number(key, "n", pkey, OSSL_PKEY_PARAM_RSA_N, 0);
    put_number(key, "e", pkey, OSSL_PKEY_PARAM_RSA_E, 0);
    return key;
}

static json_t *ec_jwk(EVP_PKEY *pkey, const char *id)
{
    json_t *key = json_pack("{s:s, s:s, s:s}", "kty", "EC", "kid", id, "crv", "P-256");
    put_number(key, "x", pkey, OSSL_PKEY_PARAM_EC_PUB_X, 32);
    put_number(key, "y", pkey, OSSL_PKEY_PARAM_EC_PUB_Y, 32);
    return key;
}

static int set_up(void **state)
{
    rsa = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
    other_rsa = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
    small_rsa = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)1024);
    ec = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    keys = json_pack("{s:[o, o, o]}", "keys", rsa_jwk(rsa, "r"), ec_jwk(ec, "e"),
                     rsa_jwk(small_rsa, "small"));
    return rsa && other_rsa && small_rsa && ec ? 0 : -1;
}

static int tear_down(void **state)
{
    json_decref(keys);
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(other_rsa);
    EVP_PKEY_free(small_rsa);
    EVP_PKEY_free(ec);
    return 0;
}

static char *encode(const json_t *json)
{
    autofree char *plain = json_dumps(json, JSON_COMPACT);
    char *text = xmalloc(BASE64_SIZE(strlen(plain)));
    base64url_encode(plain, strlen(plain), text);
    return text;
}

/* In DER libcrypto signs, and a token has two numbers. */
static size_t from_der(unsigned char *signature, size_t size)
{
    const unsigned char *at = signature;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)size);
    unsigned char raw[64];
    assert_non_null(pair);
    BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + 32, 32);
    memcpy(signature, raw, sizeof raw);
    ECDSA_SIG_free(pair);
    return sizeof raw;
}

static char *sign(EVP_PKEY *pkey, const char *algorithm, const char *key_id, const json_t *claims)
{
    json_auto_t *header = json_pack("{s:s, s:s*}", "alg", algorithm, "kid", key_id);
    autofree char *first = encode(header), *second = encode(claims);
    autofree char *signed_part = xasprintf("%s.%s", first, second);
    unsigned char signature[1024];
    char text[BASE64_SIZE(sizeof signature)];
    size_t size = sizeof signature;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, pkey), 1);
    assert_int_equal(EVP_DigestSign(context, signature, &size, (unsigned char *)signed_part,
                                    strlen(signed_part)),
                     1);
    EVP_MD_CTX_free(context);
    if (pkey == ec)
        size = from_der(signature, size);
    base64url_encode(signature, size, text);
    return xasprintf("%s.%s", signed_part, text);
}

static json_t *good_claims(void)
{
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:s}", "iss", "https://idp.example", "aud",
                     "client", "sub", "s-1", "iat", NOW_S - 5, "exp", NOW_S + 300, "nonce",
                     "nonce-1");
}

/* Opened with this claim in the place of the good one; NULL: without it. */
static bool opens_with(const char *name, json_t *value)
{
    json_auto_t *claims = good_claims(), *got = NULL;
    error_auto err = NULL;
    if (value)
        json_object_set_new(claims, name, value);
    else
        json_object_del(claims, name);
    autofree char *token = sign(rsa, "RS256", "r", claims);
    return oidc_token_open(token, keys, &expected, &got, &err) == 0;
}

TEST(signed_tokens_are_opened)
{
    struct error *err = NULL;
    json_auto_t *claims = good_claims();
    autofree char *by_rsa = sign(rsa, "RS256", "r", claims),
                  *by_ec = sign(ec, "ES256", "e", claims),
                  *nameless = sign(rsa, "RS256", NULL, claims);
    const char *const tokens[] = {by_rsa, by_ec, nameless};
    for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
        json_auto_t *got = NULL;
        assert_ok(oidc_token_open(tokens[i], keys, &expected, &got, &err));
        assert_true(json_equal(got, claims));
    }
    autofree char *key_id = NULL, *none = NULL;
    assert_ok(oidc_token_key_id(by_ec, &key_id, &err));
    assert_string_equal(key_id, "e");
    assert_ok(oidc_token_key_id(nameless, &none, &err));
    assert_string_equal(none, "");
}

TEST(claims_have_to_fit)
{
    assert_true(opens_with("extra", json_true()));
    assert_true(opens_with("aud", json_pack("[s]", "client")));
    assert_false(opens_with("iss", json_string("https://idp.example/")));
    assert_false(opens_with("iss", NULL));
    assert_false(opens_with("aud", json_string("another")));
    assert_false(opens_with("aud", json_pack("[s, s]", "client", "another")));
    assert_false(opens_with("aud", NULL));
    assert_false(opens_with("azp", json_string("another")));
    assert_true(opens_with("azp", json_string("client")));
    assert_false(opens_with("nonce", json_string("nonce-2")));
    assert_false(opens_with("nonce", NULL));
    assert_true(opens_with("exp", json_integer(NOW_S - 30)));
    assert_false(opens_with("exp", json_integer(NOW_S - 61)));
    assert_false(opens_with("exp", json_string("never")));
    assert_false(opens_with("exp", NULL));
    assert_true(opens_with("iat", json_integer(NOW_S + 30)));
    assert_false(opens_with("iat", json_integer(NOW_S + 61)));
    assert_false(opens_with("iat", NULL));
}

static void refused(const char *token)
{
    struct error *err = NULL;
    json_t *got = NULL;
    assert_fails_saying(oidc_token_open(token, keys, &expected, &got, &err),
                        ERR_INVALID_CREDENTIALS, "was refused");
    assert_null(got);
}

TEST(who_has_not_signed_signs_nothing)
{
    json_auto_t *claims = good_claims();
    autofree char *other = sign(other_rsa, "RS256", "r", claims);
    autofree char *crossed = sign(rsa, "RS256", "e", claims),
                  *kind = sign(ec, "RS256", "e", claims);
    autofree char *none = sign(rsa, "none", "r", claims), *hmac = sign(rsa, "HS256", "r", claims);
    autofree char *small = sign(small_rsa, "RS256", "small", claims);
    refused(other);
    refused(crossed);
    refused(kind);
    refused(none);
    refused(hmac);
    refused(small);
    refused("");
    refused("..");
    refused("a.b.c");
    refused("e30.e30.");
    refused("e30.e30.AA.AA");
}

TEST(every_changed_character_counts)
{
    json_auto_t *claims = good_claims();
    autofree char *token = sign(ec, "ES256", "e", claims);
    /* The last character has bits that stand for nothing. */
    for (size_t at = 0; at + 1 < strlen(token); at += 7) {
        char was = token[at];
        token[at] = was == 'A' ? 'B' : 'A';
        refused(token);
        token[at] = was;
    }
}

TEST_GROUP(set_up, tear_down)
