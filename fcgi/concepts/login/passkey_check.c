/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/passkey_check.h"

#include <fido.h>
#include <fido/eddsa.h>
#include <fido/es256.h>
#include <fido/rs256.h>
#include <jansson.h>
#include <sodium.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "crypto/mac.h"

/* The fixed beginning of authenticator data: SHA-256 of the relying party's id, flags, counter. */
#define HEAD_SIZE (crypto_hash_sha256_BYTES + 1 + 4)
enum { USER_PRESENT = 0x01, USER_VERIFIED = 0x04, HAS_KEY = 0x40, HAS_EXTENSIONS = 0x80 };

const int passkey_algorithms[PASSKEY_ALGORITHMS] = {COSE_ES256, COSE_EDDSA, COSE_RS256};

/* --- client data --- */

static const char *check_members(const json_t *data, const char *type,
                                 const struct passkey_expected *expected)
{
    if (!str_equal(json_string_value(json_object_get(data, "type")), type))
        return "the client data have another type";
    if (!str_equal(json_string_value(json_object_get(data, "challenge")), expected->challenge))
        return "the challenge is another one";
    if (!str_equal(json_string_value(json_object_get(data, "origin")), expected->origin))
        return "the origin is not the console's";
    const json_t *crossing = json_object_get(data, "crossOrigin");
    if ((crossing && !json_is_false(crossing)) || json_object_get(data, "topOrigin"))
        return "the request came from a frame of another origin";
    return NULL;
}

/* hash: of the bytes, which the authenticator signs. */
static const char *check_client_data(const struct passkey_expected *expected, const char *type,
                                     const char *text, unsigned char hash[crypto_hash_sha256_BYTES])
{
    unsigned char bytes[PASSKEY_DATA_MAX];
    int size = base64url_decode(text, bytes, sizeof bytes);
    json_auto_t *data =
        size < 0 ? NULL : json_loadb((char *)bytes, (size_t)size, JSON_REJECT_DUPLICATES, NULL);
    if (!data)
        return "the client data are no JSON";
    crypto_hash_sha256(hash, bytes, (size_t)size);
    return check_members(data, type, expected);
}

/* --- authenticator data --- */

struct authenticator_data {
    unsigned char bytes[PASSKEY_DATA_MAX];
    size_t size;
};

static const char *check_authenticator_data(const struct passkey_expected *expected,
                                            const char *text, struct authenticator_data *data)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    int size = base64url_decode(text, data->bytes, sizeof data->bytes);
    if (size < (int)HEAD_SIZE)
        return "the authenticator data are too short or too long";
    data->size = (size_t)size;
    crypto_hash_sha256(hash, (const unsigned char *)expected->host, strlen(expected->host));
    if (memcmp(data->bytes, hash, sizeof hash) != 0)
        return "the passkey is of another host";
    unsigned char flags = data->bytes[sizeof hash];
    if (!(flags & USER_PRESENT) || !(flags & USER_VERIFIED))
        return "the authenticator did not verify its user";
    return NULL;
}

static bool read_key_of(const struct authenticator_data *data, int algorithm,
                        struct passkey_key *key)
{
    fido_cred_t *credential = fido_cred_new();
    bool reads = credential && fido_cred_set_type(credential, algorithm) == FIDO_OK &&
                 fido_cred_set_authdata_raw(credential, data->bytes, data->size) == FIDO_OK &&
                 fido_cred_id_len(credential) > 0 &&
                 fido_cred_id_len(credential) <= sizeof key->id &&
                 fido_cred_pubkey_len(credential) > 0 &&
                 fido_cred_pubkey_len(credential) <= sizeof key->public_key;
    if (reads) {
        *key = (struct passkey_key){
            .id_size = fido_cred_id_len(credential),
            .algorithm = algorithm,
            .public_key_size = fido_cred_pubkey_len(credential),
            .sign_count = fido_cred_sigcount(credential),
        };
        memcpy(key->id, fido_cred_id_ptr(credential), key->id_size);
        memcpy(key->public_key, fido_cred_pubkey_ptr(credential), key->public_key_size);
    }
    fido_cred_free(&credential);
    return reads;
}

const char *passkey_read_new(const struct passkey_expected *expected,
                             const struct passkey_answer *answer, struct passkey_key *key)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    struct authenticator_data data;
    const char *reason = check_client_data(expected, "webauthn.create", answer->client_data, hash);
    if (!reason)
        reason = check_authenticator_data(expected, answer->authenticator_data, &data);
    if (reason)
        return reason;
    /* libfido2 wants to know the algorithm before it reads. */
    for (unsigned i = 0; i < PASSKEY_ALGORITHMS; i++)
        if (read_key_of(&data, passkey_algorithms[i], key))
            return NULL;
    return "the authenticator data have no key that sandlot knows";
}

/* --- signatures --- */

/* Make the key of libfido2, which the caller frees with free_key(). NULL: it is no key. */
static void *make_key(const struct passkey_key *key)
{
    const void *bytes = key->public_key;
    es256_pk_t *es256 = key->algorithm == COSE_ES256 ? es256_pk_new() : NULL;
    if (es256 && es256_pk_from_ptr(es256, bytes, key->public_key_size) != FIDO_OK)
        es256_pk_free(&es256);
    eddsa_pk_t *eddsa = key->algorithm == COSE_EDDSA ? eddsa_pk_new() : NULL;
    if (eddsa && eddsa_pk_from_ptr(eddsa, bytes, key->public_key_size) != FIDO_OK)
        eddsa_pk_free(&eddsa);
    rs256_pk_t *rs256 = key->algorithm == COSE_RS256 ? rs256_pk_new() : NULL;
    if (rs256 && rs256_pk_from_ptr(rs256, bytes, key->public_key_size) != FIDO_OK)
        rs256_pk_free(&rs256);
    return es256 ? (void *)es256 : eddsa ? (void *)eddsa : (void *)rs256;
}

static void free_key(int algorithm, void *made)
{
    es256_pk_t *es256 = made;
    eddsa_pk_t *eddsa = made;
    rs256_pk_t *rs256 = made;
    if (algorithm == COSE_ES256)
        es256_pk_free(&es256);
    else if (algorithm == COSE_EDDSA)
        eddsa_pk_free(&eddsa);
    else
        rs256_pk_free(&rs256);
}

static bool is_signed(const struct passkey_expected *expected,
                      const struct authenticator_data *data,
                      const unsigned char hash[crypto_hash_sha256_BYTES], const char *signature,
                      const struct passkey_key *key)
{
    unsigned char bytes[PASSKEY_SIGNATURE_MAX];
    int size = base64url_decode(signature, bytes, sizeof bytes);
    fido_assert_t *assertion = fido_assert_new();
    void *made = make_key(key);
    bool good =
        size > 0 && assertion && made && fido_assert_set_count(assertion, 1) == FIDO_OK &&
        fido_assert_set_rp(assertion, expected->host) == FIDO_OK &&
        fido_assert_set_up(assertion, FIDO_OPT_TRUE) == FIDO_OK &&
        fido_assert_set_uv(assertion, FIDO_OPT_TRUE) == FIDO_OK &&
        fido_assert_set_clientdata_hash(assertion, hash, crypto_hash_sha256_BYTES) == FIDO_OK &&
        fido_assert_set_authdata_raw(assertion, 0, data->bytes, data->size) == FIDO_OK &&
        fido_assert_set_sig(assertion, 0, bytes, (size_t)size) == FIDO_OK &&
        fido_assert_verify(assertion, 0, key->algorithm, made) == FIDO_OK;
    if (made)
        free_key(key->algorithm, made);
    fido_assert_free(&assertion);
    return good;
}

const char *passkey_verify(const struct passkey_expected *expected,
                           const struct passkey_answer *answer, const struct passkey_key *key,
                           uint32_t *sign_count)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    struct authenticator_data data;
    const char *reason = check_client_data(expected, "webauthn.get", answer->client_data, hash);
    if (!reason)
        reason = check_authenticator_data(expected, answer->authenticator_data, &data);
    if (reason)
        return reason;
    const unsigned char *at = data.bytes + crypto_hash_sha256_BYTES;
    /* Without these parts there is no CBOR to read before somebody has signed in. */
    if (data.size != HEAD_SIZE || (at[0] & (HAS_KEY | HAS_EXTENSIONS)))
        return "the authenticator data have a key or extensions";
    if (!is_signed(expected, &data, hash, answer->signature, key))
        return "the signature is wrong";
    *sign_count = (uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 8 | at[4];
    return NULL;
}
