/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signed links: GET and POST /files without an access token, but with the arguments `signature`
 * and perhaps `signature_expiration`. Who holds a token of the sandbox makes
 *
 *   "v1_" base64(sha256("<path>:<read|write>:<username>:<token>[:<signature_expiration>]"))
 *
 * without padding, where path and username are the values of those arguments. A link ends with the
 * token that it was made with, at the latest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "crypto/keyring.h"

enum signature_verdict { SIGNATURE_GOOD, SIGNATURE_BAD, SIGNATURE_EXPIRED };

/* Whether a request is to be judged by a signature. path and query are as sent; query may be NULL.
 */
bool signature_is_present(const char *path, const char *query);

/* The tokens that may have made it. */
struct signature_of {
    const char *sandbox_id;
    uint32_t session_epoch;
    uint64_t token_ttl_s; /* the life that tokens are issued with */
};

/* Judge it. Arguments that the agent might read in another way than this does are SIGNATURE_BAD. */
enum signature_verdict signature_check(const struct keyring *ring, const struct signature_of *of,
                                       const char *method, const char *query);
