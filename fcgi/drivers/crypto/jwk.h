/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signatures of JSON Web Tokens (RFC 7515, RFC 7518) by keys in their JSON form (RFC 7517): RS256
 * of RSA with at least 2048 bits, and ES256. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Return whether the key may sign by that algorithm, and the signature is its. Keys and signatures
 * that are malformed sign nothing. */
bool jwk_verifies(const json_t *key, const char *algorithm, const void *data, size_t size,
                  const unsigned char *signature, size_t signature_size);

/* Return whether jwk_verifies() knows it. */
bool jwk_knows_algorithm(const char *algorithm);
