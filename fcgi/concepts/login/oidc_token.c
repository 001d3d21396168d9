/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/oidc_token.h"

#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/jwk.h"
#include "crypto/mac.h"

#define CLOCK_SKEW_S  60
#define SIGNATURE_MAX 1024
#define KEYS_MAX      64 /* the most keys that are tried */

static int refuse(struct error **err, const char *what)
{
    return error_set(err, ERR_INVALID_CREDENTIALS,
                     "The identity provider's ID token was refused: %s.", what);
}

/* header.payload.signature */
struct parts {
    const char *token;
    size_t header_size, signed_size; /* up to the first and to the second dot */
};

static int split(const char *token, struct parts *parts, struct error **err)
{
    const char *first = strchr(token, '.'), *second = first ? strchr(first + 1, '.') : NULL;
    if (!second || strchr(second + 1, '.') || strlen(token) > OIDC_TOKEN_MAX)
        return refuse(err, "it is not a signed token");
    *parts = (struct parts){token, (size_t)(first - token), (size_t)(second - token)};
    return 0;
}

static json_t *object_of(const char *text, size_t size)
{
    autofree char *encoded = xstrndup(text, size), *plain = xmalloc(size + 1);
    int length = base64url_decode(encoded, plain, size);
    json_t *json =
        length < 0 ? NULL : json_read(plain, (size_t)length, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(json))
        return json;
    json_decref(json);
    return NULL;
}

static int read_header(const struct parts *parts, json_t **header, struct error **err)
{
    *header = object_of(parts->token, parts->header_size);
    if (!*header)
        return refuse(err, "it has no header");
    if (jwk_knows_algorithm(json_string_value(json_object_get(*header, "alg"))))
        return 0;
    json_decref(*header);
    *header = NULL;
    return refuse(err, "its signature is neither RS256 nor ES256");
}

int oidc_token_key_id(const char *token, char **key_id, struct error **err)
{
    struct parts parts;
    json_auto_t *header = NULL;
    if (split(token, &parts, err) < 0 || read_header(&parts, &header, err) < 0)
        return -1;
    const char *named = json_string_value(json_object_get(header, "kid"));
    *key_id = xstrdup(named ? named : "");
    return 0;
}

static bool may_have_signed(const json_t *key, const char *key_id)
{
    return !key_id || str_equal(json_string_value(json_object_get(key, "kid")), key_id);
}

static int check_signature(const struct parts *parts, const json_t *header, const json_t *keys,
                           struct error **err)
{
    unsigned char signature[SIGNATURE_MAX];
    int size = base64url_decode(parts->token + parts->signed_size + 1, signature, sizeof signature);
    const char *key_id = json_string_value(json_object_get(header, "kid"));
    const char *algorithm = json_string_value(json_object_get(header, "alg"));
    const json_t *list = json_object_get(keys, "keys");
    for (size_t i = 0; size > 0 && i < json_array_size(list) && i < KEYS_MAX; i++) {
        const json_t *key = json_array_get(list, i);
        if (may_have_signed(key, key_id) &&
            jwk_verifies(key, algorithm, parts->token, parts->signed_size, signature, (size_t)size))
            return 0;
    }
    return refuse(err, "no key of the provider has signed it");
}

/* Check the audience. With several audiences, `azp` must name us. */
static bool is_for(const json_t *claims, const char *client_id)
{
    const json_t *audience = json_object_get(claims, "aud");
    const json_t *party = json_object_get(claims, "azp");
    bool named = str_equal(json_string_value(audience), client_id);
    for (size_t i = 0; i < json_array_size(audience); i++)
        named |= str_equal(json_string_value(json_array_get(audience, i)), client_id);
    if (party || json_array_size(audience) > 1)
        return named && str_equal(json_string_value(party), client_id);
    return named;
}

static int check_claims(const json_t *claims, const struct oidc_expected *expected,
                        struct error **err)
{
    const json_t *ends = json_object_get(claims, "exp"), *made = json_object_get(claims, "iat");
    const json_int_t now_s = (json_int_t)(expected->now_ms / 1000);
    if (!str_equal(json_string_value(json_object_get(claims, "iss")), expected->issuer))
        return refuse(err, "it has another issuer");
    if (!is_for(claims, expected->client_id))
        return refuse(err, "it is for another client");
    if (!json_is_integer(ends) || json_integer_value(ends) <= now_s - CLOCK_SKEW_S)
        return refuse(err, "it has expired; check the clocks of this machine and of the provider");
    if (!json_is_integer(made) || json_integer_value(made) > now_s + CLOCK_SKEW_S)
        return refuse(
            err,
            "it was issued in the future; check the clocks of this machine and of the provider");
    if (!str_equal(json_string_value(json_object_get(claims, "nonce")), expected->nonce))
        return refuse(err, "it belongs to another sign-in");
    return 0;
}

int oidc_token_open(const char *token, const json_t *keys, const struct oidc_expected *expected,
                    json_t **claims, struct error **err)
{
    struct parts parts;
    json_auto_t *header = NULL;
    if (split(token, &parts, err) < 0 || read_header(&parts, &header, err) < 0 ||
        check_signature(&parts, header, keys, err) < 0)
        return -1;
    json_auto_t *read =
        object_of(token + parts.header_size + 1, parts.signed_size - parts.header_size - 1);
    if (!read)
        return refuse(err, "it has no claims");
    if (check_claims(read, expected, err) < 0)
        return -1;
    *claims = json_incref(read);
    return 0;
}
