/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signed links: GET and POST /files without an access token, but with the arguments `signature` and
 * perhaps `signature_expiration`. The holder of a sandbox's token makes
 *
 *   "v1_" base64(sha256("<path>:<read|write>:<username>:<token>[:<signature_expiration>]"))
 *
 * without padding, where path and username are the values of these arguments. A link ends together
 * with the token that made it, or earlier.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "crypto/keyring.h"

enum signature_verdict { SIGNATURE_GOOD, SIGNATURE_BAD, SIGNATURE_EXPIRED };

/* Return whether a request must be checked by its signature. path and query are as sent; query may
 * be NULL. */
bool signature_is_present(const char *path, const char *query);

/* The tokens that can have made a signature. */
struct signature_of {
    const char *sandbox_id;
    uint32_t session_epoch;
    uint64_t token_ttl_s; /* the lifetime of new tokens */
};

/* Check a signature. Arguments that the agent could read differently give SIGNATURE_BAD. */
enum signature_verdict signature_check(const struct keyring *ring, const struct signature_of *of,
                                       const char *method, const char *query);
