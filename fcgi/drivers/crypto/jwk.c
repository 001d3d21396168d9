/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crypto/jwk.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <string.h>

#include "base/str.h"
#include "crypto/mac.h"

#define NUMBER_MAX    1024 /* bytes of a key's number: RSA of 8192 bits */
#define RSA_BITS_MIN  2048
#define EC_COORDINATE 32

bool jwk_knows_algorithm(const char *algorithm)
{
    return str_equal(algorithm, "RS256") || str_equal(algorithm, "ES256");
}

static const char *member(const json_t *key, const char *name)
{
    return json_string_value(json_object_get(key, name));
}

/* The bytes of a number in base64url; -1 for other text. */
static int number_of(const json_t *key, const char *name, unsigned char out[NUMBER_MAX])
{
    const char *text = member(key, name);
    return text ? base64url_decode(text, out, NUMBER_MAX) : -1;
}

static BIGNUM *bignum_of(const json_t *key, const char *name)
{
    unsigned char bytes[NUMBER_MAX];
    int size = number_of(key, name, bytes);
    return size > 0 ? BN_bin2bn(bytes, size, NULL) : NULL;
}

static EVP_PKEY *make(const char *type, OSSL_PARAM_BLD *builder)
{
    EVP_PKEY *made = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    if (!context || !parameters || EVP_PKEY_fromdata_init(context) <= 0 ||
        EVP_PKEY_fromdata(context, &made, EVP_PKEY_PUBLIC_KEY, parameters) <= 0)
        made = NULL;
    OSSL_PARAM_free(parameters);
    EVP_PKEY_CTX_free(context);
    return made;
}

static EVP_PKEY *rsa_key(const json_t *key)
{
    EVP_PKEY *made = NULL;
    BIGNUM *n = bignum_of(key, "n"), *e = bignum_of(key, "e");
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (n && e && builder && BN_num_bits(n) >= RSA_BITS_MIN &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e))
        made = make("RSA", builder);
    OSSL_PARAM_BLD_free(builder);
    BN_free(n);
    BN_free(e);
    return made;
}

static EVP_PKEY *ec_key(const json_t *key)
{
    unsigned char point[1 + 2 * EC_COORDINATE] = {POINT_CONVERSION_UNCOMPRESSED}, x[NUMBER_MAX],
                                y[NUMBER_MAX];
    EVP_PKEY *made = NULL;
    if (!str_equal(member(key, "crv"), "P-256") || number_of(key, "x", x) != EC_COORDINATE ||
        number_of(key, "y", y) != EC_COORDINATE)
        return NULL;
    memcpy(point + 1, x, EC_COORDINATE);
    memcpy(point + 1 + EC_COORDINATE, y, EC_COORDINATE);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (builder &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point))
        made = make("EC", builder);
    OSSL_PARAM_BLD_free(builder);
    return made;
}

static bool verifies(EVP_PKEY *key, const void *data, size_t size, const unsigned char *signature,
                     size_t signature_size)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good = context && EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestVerify(context, signature, signature_size, data, size) == 1;
    EVP_MD_CTX_free(context);
    return good;
}

/* Two numbers behind each other, where libcrypto wants them in DER. */
static bool ec_verifies(EVP_PKEY *key, const void *data, size_t size,
                        const unsigned char *signature, size_t signature_size)
{
    unsigned char *der = NULL;
    bool good = false;
    if (signature_size != 2 * EC_COORDINATE)
        return false;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, EC_COORDINATE, NULL);
    BIGNUM *s = BN_bin2bn(signature + EC_COORDINATE, EC_COORDINATE, NULL);
    if (pair && r && s && ECDSA_SIG_set0(pair, r, s)) {
        int der_size = i2d_ECDSA_SIG(pair, &der);
        good = der_size > 0 && verifies(key, data, size, der, (size_t)der_size);
    } else {
        BN_free(r);
        BN_free(s);
    }
    OPENSSL_free(der);
    ECDSA_SIG_free(pair);
    return good;
}

bool jwk_verifies(const json_t *key, const char *algorithm, const void *data, size_t size,
                  const unsigned char *signature, size_t signature_size)
{
    bool is_rsa = str_equal(algorithm, "RS256"), is_ec = str_equal(algorithm, "ES256");
    const char *own = member(key, "alg"), *use = member(key, "use");
    if ((!is_rsa && !is_ec) || (own && !str_equal(own, algorithm)) ||
        (use && !str_equal(use, "sig")) || !str_equal(member(key, "kty"), is_rsa ? "RSA" : "EC"))
        return false;
    EVP_PKEY *made = is_rsa ? rsa_key(key) : ec_key(key);
    bool good = made && (is_rsa ? verifies(made, data, size, signature, signature_size)
                                : ec_verifies(made, data, size, signature, signature_size));
    EVP_PKEY_free(made);
    return good;
}
