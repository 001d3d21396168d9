/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sign in through an identity provider: OpenID Connect's authorisation code flow with PKCE. A
 * sealed cookie of the browser carries the state, nonce, verifier and return path to the provider
 * and back. It is valid for some minutes.
 */
#pragma once

#include "base/buffer.h"
#include "login/oidc_provider.h"
#include "login/sign_in.h"

#define OIDC_MEMORY_S   600
#define OIDC_MEMORY_MAX 2048 /* bytes of the cookie */
#define OIDC_RETURN_MAX 512  /* bytes of the return path */

/* Check a path of the console: it starts with exactly one '/', has at most OIDC_RETURN_MAX bytes,
 * and no backslash or control character. */
bool oidc_return_is_valid(const char *path);

/* Append the address to which the browser goes, and the cookie with which it returns. Errors:
 * ERR_CONFIG (the address is too long), those of oidc_provider_authorization(). */
int oidc_begin(const struct sign_in *by, struct oidc_provider *provider, const char *return_path,
               struct buffer *location, struct buffer *memory, struct error **err);

/* The parameters and the cookie with which the browser returns. */
struct oidc_answer {
    const char *code, *state, *issuer, *error; /* each may be NULL */
    const char *memory;                        /* the cookie; may be NULL */
};

/* Sign in the user for whom the provider vouches. path: receives the return path. Errors:
 * ERR_INVALID_CREDENTIALS, ERR_RATE_LIMITED, and those of oidc_provider_exchange(). */
int oidc_finish(const struct sign_in *by, struct oidc_provider *provider,
                const struct oidc_answer *answer, struct login *login, char text[SECRET_TEXT_SIZE],
                char path[OIDC_RETURN_MAX + 1], struct error **err);
