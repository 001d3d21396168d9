/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answers of an authenticator (Web Authentication Level 2), without any database. Browsers send
 * the authenticator data apart, so there is no attestation object. libfido2 reads the public key of
 * a new passkey, which a user sends who has signed in, and verifies signatures.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PASSKEY_ID_MAX  1023 /* bytes of a credential id */
#define PASSKEY_KEY_MAX 259  /* bytes of a public key: RSA with 2048 bits and its exponent */

/* Bytes of the parts of an answer, and of their base64. */
#define PASSKEY_DATA_MAX      2048
#define PASSKEY_SIGNATURE_MAX 512

/* The public half of a passkey. */
struct passkey_key {
    unsigned char id[PASSKEY_ID_MAX];
    size_t id_size;
    int algorithm; /* of COSE: one of passkey_algorithms */
    unsigned char public_key[PASSKEY_KEY_MAX];
    size_t public_key_size;
    uint32_t sign_count; /* 0: the authenticator does not count */
};

#define PASSKEY_ALGORITHMS 3
extern const int passkey_algorithms[PASSKEY_ALGORITHMS]; /* the best one first */

struct passkey_expected {
    const char *origin, *host; /* of the console; the host is the id of the relying party */
    const char *challenge;     /* in base64url, as the browser got it */
};

/* The parts of an answer in base64url. signature: NULL in the answer for a new passkey. */
struct passkey_answer {
    const char *client_data, *authenticator_data, *signature;
};

/* Read the key of a new passkey. Returns NULL, or the reason of a refusal, for a log. */
const char *passkey_read_new(const struct passkey_expected *expected,
                             const struct passkey_answer *answer, struct passkey_key *key);

/* Verify that the passkey has signed the challenge for this origin, and that the authenticator has
 * verified its user. *sign_count: the authenticator's counter. Returns like passkey_read_new(). */
const char *passkey_verify(const struct passkey_expected *expected,
                           const struct passkey_answer *answer, const struct passkey_key *key,
                           uint32_t *sign_count);
