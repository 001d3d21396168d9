/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check ID tokens (OpenID Connect Core 1.0, section 3.1.3.7), without any request. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"

#define OIDC_TOKEN_MAX 65536 /* bytes */

/* The values that a token must have. */
struct oidc_expected {
    const char *issuer, *client_id, *nonce;
    int64_t now_ms;
};

/* Read from the header the id of the signing key; new, "" when it names none. Errors:
 * ERR_INVALID_CREDENTIALS (not a signed token, or an unsupported algorithm). */
int oidc_token_key_id(const char *token, char **key_id, struct error **err);

/* Return the claims of a token that one of the keys ({"keys": […]}) has signed, and that is for us,
 * valid now and for this sign-in. A new reference. Errors: ERR_INVALID_CREDENTIALS with the
 * reason. */
int oidc_token_open(const char *token, const json_t *keys, const struct oidc_expected *expected,
                    json_t **claims, struct error **err);
