/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes that programs of a front read from clients and providers besides HTTP. The first byte
 * chooses the parser of the rest. A parser must never accept a token that no key of the deployment
 * made. */
#include <assert.h>
#include <jansson.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "account/ssh_certificate.h"
#include "account/ssh_public_key.h"
#include "api/e2b/e2b.h"
#include "base/mem.h"
#include "base/trace.h"
#include "crypto/jwk.h"
#include "crypto/keyring_file.h"
#include "crypto/signed_token.h"
#include "gate/audience.h"
#include "gate/signature.h"
#include "login/oidc_token.h"
#include "objects/objects_xml.h"
#include "recipe/image_reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct keyring *fixed_ring(void)
{
    static const char keys[] =
        "1 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";
    static struct keyring *ring;
    error_auto err = NULL;
    if (!ring && keyring_parse(keys, sizeof keys - 1, &ring, &err) < 0)
        abort();
    return ring;
}

static void try_public_key(const char *text)
{
    struct ssh_public_key key, again;
    error_auto err = NULL;
    if (ssh_public_key_parse(text, "/public_key", &key, &err) < 0) {
        assert(err && err->code == ERR_INVALID_REQUEST);
        return;
    }
    assert(strlen(key.fingerprint) == SSH_FINGERPRINT_SIZE - 1);
    if (ssh_public_key_parse(key.text, "/public_key", &again, &err) < 0 ||
        strcmp(key.fingerprint, again.fingerprint) != 0)
        abort();
    ssh_public_key_deinit(&key);
    ssh_public_key_deinit(&again);
}

/* The blob in base64, as a client sends it, so that the fuzzer reaches the fields. */
static void try_certificate(const char *data, size_t size)
{
    static struct ssh_authorities authorities;
    struct ssh_certificate certificate;
    error_auto err = NULL;
    if (size > 2 * (size_t)SSH_CERTIFICATE_MAX)
        return;
    size_t room = sodium_base64_encoded_len(size, sodium_base64_VARIANT_ORIGINAL);
    autofree char *base64 = xmalloc(room);
    sodium_bin2base64(base64, room, (const unsigned char *)data, size,
                      sodium_base64_VARIANT_ORIGINAL);
    authorities.count = 1;
    memset(authorities.list[0].key, 7, sizeof authorities.list[0].key);
    if (ssh_certificate_check(&authorities, "user:", base64, 1000000000LL, &certificate, &err) == 0)
        abort(); /* it has no private key */
    assert(err && err->code == ERR_UNAUTHORIZED);
}

static void try_oidc_token(const char *text)
{
    static const struct oidc_expected expected = {"https://idp.example", "client", "nonce",
                                                  1800000000000LL};
    json_auto_t *keys =
        json_pack("{s:[{s:s, s:s, s:s, s:s, s:s}]}", "keys", "kty", "EC", "kid", "e", "crv",
                  "P-256", "x", "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y",
                  "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM");
    json_t *claims = NULL;
    char *id = NULL;
    error_auto first = NULL;
    error_auto second = NULL;
    if (oidc_token_key_id(text, &id, &first) < 0)
        assert(first && first->code == ERR_INVALID_CREDENTIALS);
    free(id);
    if (oidc_token_open(text, keys, &expected, &claims, &second) == 0)
        abort();
    assert(second && second->code == ERR_INVALID_CREDENTIALS && !claims);
}

/* A key of a provider, one line of JSON, and a signature behind it. */
static void try_jwk(const char *data, size_t size)
{
    const char *end = memchr(data, '\n', size);
    size_t length = end ? (size_t)(end - data) : size;
    json_auto_t *key = json_loadb(data, length, 0, NULL);
    const unsigned char *rest = (const unsigned char *)data + (end ? length + 1 : length);
    size_t rest_size = size - (size_t)(rest - (const unsigned char *)data);
    if (key && (jwk_verifies(key, "ES256", "x", 1, rest, rest_size) ||
                jwk_verifies(key, "RS256", "x", 1, rest, rest_size)))
        abort();
    assert(!jwk_knows_algorithm("none"));
}

static void try_signed_token(const char *text)
{
    static const struct signed_token_kind kind = {KEY_PURPOSE_SESSION, "sls_", 40};
    unsigned char version, body[SIGNED_TOKEN_BODY_MAX];
    if (signed_token_open(fixed_ring(), &kind, text, &version, body) == 0)
        abort();
}

static void try_link(const char *text)
{
    const struct signature_of of = {"sbx_00000000000000000000000000", 0, 600};
    if (signature_is_present("/files", text) &&
        signature_check(fixed_ring(), &of, "GET", text) == SIGNATURE_GOOD)
        abort();
}

static void try_audience(const char *text)
{
    autofree char *accept = xasprintf("HTTP_ACCEPT=%s", text);
    char *parameters[] = {accept, NULL};
    struct http_request request;
    http_request_init(&request, parameters, 0);
    (void)audience_wants_page(&request);
    http_request_deinit(&request);
}

static void try_list_query(const char *text)
{
    autofree char *query = xasprintf("QUERY_STRING=%s", text);
    char *parameters[] = {query, NULL};
    struct http_request request;
    error_auto err = NULL;
    http_request_init(&request, parameters, 0);
    /* The filter by sandbox asks the database. */
    if (!http_query(&request, "sandboxID") && e2b_list_query(NULL, &request, &err) < 0)
        assert(err && err->code == ERR_INVALID_REQUEST);
    assert(request.query_count <= HTTP_QUERY_MAX);
    http_request_deinit(&request);
}

static void try_xml(const char *text)
{
    const char *at = text, *end = text + strlen(text);
    char *value;
    for (const char *before = at; (value = objects_xml_next(&at, "Key")); before = at) {
        assert(at > before && at <= end);
        free(value);
    }
    free(objects_xml_find(text, "NextContinuationToken"));
}

/* Parts of a name become parts of an address, so they have no other characters than names have. */
static void try_image(const char *text)
{
    struct image_reference image = {.registry = ""};
    error_auto err = NULL;
    if (image_reference_parse(text, "registry.example", &image, &err) < 0) {
        assert(err && err->code == ERR_INVALID_REQUEST);
        return;
    }
    assert(*image.registry && *image.repository && !*image.tag != !*image.digest);
    assert(!strpbrk(image.registry, "/@?#%\\ \r\n") && !strpbrk(image.tag, "/@?#%\\ \r\n"));
    assert(!strpbrk(image.repository, "@?#%\\ \r\n") && !strstr(image.repository, ".."));
}

static void try_trace(const char *text)
{
    char id[TRACE_ID_SIZE];
    assert(!trace_id_read(text, id) || strspn(id, "0123456789abcdef") == TRACE_ID_SIZE - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size || size > 65536)
        return 0;
    const char *rest = (const char *)data + 1;
    autofree char *text = xstrndup(rest, size - 1);
    switch (data[0]) {
    case 'p':
        try_public_key(text);
        break;
    case 'c':
        try_certificate(rest, size - 1);
        break;
    case 'o':
        try_oidc_token(text);
        break;
    case 'j':
        try_jwk(rest, size - 1);
        break;
    case 't':
        try_signed_token(text);
        break;
    case 'l':
        try_link(text);
        break;
    case 'a':
        try_audience(text);
        break;
    case 'q':
        try_list_query(text);
        break;
    case 'x':
        try_xml(text);
        break;
    case 'i':
        try_image(text);
        break;
    case 'w':
        try_trace(text);
        break;
    default:
        break;
    }
    return 0;
}
