/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The identity provider: its metadata (OpenID Connect Discovery) and its keys, each fetched when
 * needed and kept for a while. Requests go to HTTPS addresses only, follow no redirects, take at
 * most some seconds and accept answers of a limited size.
 */
#pragma once

#include <jansson.h>

#include "config/settings.h"

struct oidc_provider;

/* Make a provider from the settings, which are borrowed. Returns NULL when oidc_issuer or
 * console_url is not set. */
struct oidc_provider *oidc_provider_new(const struct settings *settings);
void oidc_provider_free(struct oidc_provider *provider); /* NULL is allowed */

/* Return the address to which a browser goes to sign in; borrowed. Errors: ERR_RUNTIME_UNAVAILABLE
 * (no answer, or not a usable one). */
int oidc_provider_authorization(struct oidc_provider *provider, const char **endpoint,
                                struct error **err);

/* Exchange a code for the ID token; new, for mem_wipe_free(). Errors: ERR_INVALID_CREDENTIALS when
 * the provider refuses the code, ERR_CONFIG (oidc_client_secret_file), and those of
 * oidc_provider_authorization(). */
int oidc_provider_exchange(struct oidc_provider *provider, const char *code, const char *verifier,
                           const char *redirect_uri, char **token, struct error **err);

/* Return the keys, borrowed until the next call. If none has this id ("": any key matches), they
 * are fetched again, at most once a minute. Errors: those of oidc_provider_authorization(). */
int oidc_provider_keys(struct oidc_provider *provider, const char *key_id, const json_t **keys,
                       struct error **err);
