/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check signatures of JSON Web Tokens (RFC 7515, RFC 7518) with keys in JSON form (RFC 7517): RS256
 * with RSA keys of at least 2048 bits, and ES256. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Return whether the key allows this algorithm, and has made this signature of the data. Malformed
 * keys and signatures: false. */
bool jwk_verifies(const json_t *key, const char *algorithm, const void *data, size_t size,
                  const unsigned char *signature, size_t signature_size);

/* Return whether jwk_verifies() supports an algorithm. */
bool jwk_knows_algorithm(const char *algorithm);
