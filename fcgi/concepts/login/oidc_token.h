/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ID tokens (OpenID Connect Core 1.0, section 3.1.3.7): pure, no request is made here. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"

#define OIDC_TOKEN_MAX 65536 /* bytes */

/* What a token has to say to be of use here. */
struct oidc_expected {
    const char *issuer, *client_id, *nonce;
    int64_t now_ms;
};

/* The id of the key that signed it, by its own word; new, "" when it names none. Errors:
 * ERR_INVALID_CREDENTIALS (it is no signed token, or signed by an algorithm that is not taken). */
int oidc_token_key_id(const char *token, char **key_id, struct error **err);

/* Its claims, when one of the keys ({"keys": […]}) signed it and it is for us, of now, and for this
 * sign-in. A new reference. Errors: ERR_INVALID_CREDENTIALS with what does not fit. */
int oidc_token_open(const char *token, const json_t *keys, const struct oidc_expected *expected,
                    json_t **claims, struct error **err);
