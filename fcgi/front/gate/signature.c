/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/signature.h"

#include <ctype.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "session/session.h"

#define PREFIX      "v1_"
#define DIGEST_TEXT 43 /* of 32 bytes in base64 without padding */

enum argument { ARGUMENT_PATH, ARGUMENT_USERNAME, ARGUMENT_SIGNATURE, ARGUMENT_EXPIRATION };

static const char *const names[] = {
    [ARGUMENT_PATH] = "path",
    [ARGUMENT_USERNAME] = "username",
    [ARGUMENT_SIGNATURE] = "signature",
    [ARGUMENT_EXPIRATION] = "signature_expiration",
};

struct arguments {
    char *values[ARRAY_SIZE(names)]; /* NULL: absent */
};

static void arguments_deinit(struct arguments *arguments)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        free(arguments->values[i]);
}

static int hex_digit(char c)
{
    if (!isxdigit((unsigned char)c))
        return -1;
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Decode a value in place. Returns 0, or -1 on a broken escape or a NUL byte. */
static int decode(char *text)
{
    char *out = text;
    for (; *text; text++) {
        char c = *text == '+' ? ' ' : *text;
        if (c == '%') {
            int high = hex_digit(text[1]);
            int low = high < 0 ? -1 : hex_digit(text[2]);
            if (low < 0 || !(high | low))
                return -1;
            c = (char)(high << 4 | low);
            text += 2;
        }
        *out++ = c;
    }
    *out = '\0';
    return 0;
}

/* Keep an argument. The agent uses the first of a name and ignores case. An argument that is
 * present twice is therefore refused: the signed one and the used one could differ. */
static int keep(struct arguments *arguments, const char *name, const char *value)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strcasecmp(name, names[i]) != 0)
            continue;
        if (arguments->values[i])
            return -1;
        arguments->values[i] = xstrdup(value);
    }
    return 0;
}

static int parse(const char *query, struct arguments *arguments)
{
    autofree char *copy = xstrdup(query);
    char *rest = copy;
    for (char *pair; (pair = strsep(&rest, "&"));) {
        char *name = strsep(&pair, "=");
        if (decode(name) < 0 || (pair && decode(pair) < 0) ||
            keep(arguments, name, pair ? pair : "") < 0)
            return -1;
    }
    return 0;
}

bool signature_is_present(const char *path, const char *query)
{
    if (!str_equal(path, "/files") || !query)
        return false;
    for (const char *at = query; at; at = strchr(at, '&')) {
        at += *at == '&';
        if (!strncasecmp(at, "signature=", sizeof "signature=" - 1))
            return true;
    }
    return false;
}

/* --- the digest --- */

struct claim {
    const char *path, *operation, *username, *expiration; /* expiration NULL: none */
    unsigned char digest[crypto_hash_sha256_BYTES];
};

static void add(crypto_hash_sha256_state *state, const char *separator, const char *text)
{
    crypto_hash_sha256_update(state, (const unsigned char *)separator, strlen(separator));
    crypto_hash_sha256_update(state, (const unsigned char *)text, strlen(text));
}

static bool is_made_with(const char *token, void *context)
{
    const struct claim *claim = context;
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    add(&state, "", claim->path);
    add(&state, ":", claim->operation);
    add(&state, ":", claim->username);
    add(&state, ":", token);
    if (claim->expiration)
        add(&state, ":", claim->expiration);
    crypto_hash_sha256_final(&state, digest);
    sodium_memzero(&state, sizeof state);
    return sodium_memcmp(digest, claim->digest, sizeof digest) == 0;
}

static int read_digest(const char *text, unsigned char digest[crypto_hash_sha256_BYTES])
{
    size_t size;
    if (!text || !str_starts_with(text, PREFIX) || strlen(text) != strlen(PREFIX) + DIGEST_TEXT)
        return -1;
    return sodium_base642bin(digest, crypto_hash_sha256_BYTES, text + strlen(PREFIX), DIGEST_TEXT,
                             NULL, &size, NULL, sodium_base64_VARIANT_ORIGINAL_NO_PADDING) == 0 &&
                   size == crypto_hash_sha256_BYTES
               ? 0
               : -1;
}

static const char *operation_of(const char *method)
{
    if (str_equal(method, "GET") || str_equal(method, "HEAD"))
        return "read";
    return str_equal(method, "POST") ? "write" : NULL;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

enum signature_verdict signature_check(const struct keyring *ring, const struct signature_of *of,
                                       const char *method, const char *query)
{
    __attribute__((cleanup(arguments_deinit))) struct arguments arguments = {{NULL}};
    if (parse(query, &arguments) < 0)
        return SIGNATURE_BAD;
    struct claim claim = {
        .path = or_empty(arguments.values[ARGUMENT_PATH]),
        .operation = operation_of(method),
        .username = or_empty(arguments.values[ARGUMENT_USERNAME]),
        .expiration = arguments.values[ARGUMENT_EXPIRATION],
    };
    uint64_t ends_at_s = UINT64_MAX;
    if (!claim.operation || read_digest(arguments.values[ARGUMENT_SIGNATURE], claim.digest) < 0 ||
        (claim.expiration && str_parse_u64(claim.expiration, 0, INT64_MAX, &ends_at_s) < 0) ||
        !session_any(ring, of->sandbox_id, of->session_epoch, of->token_ttl_s, is_made_with,
                     &claim))
        return SIGNATURE_BAD;
    return ends_at_s < (uint64_t)clock_now_ms() / 1000 ? SIGNATURE_EXPIRED : SIGNATURE_GOOD;
}
