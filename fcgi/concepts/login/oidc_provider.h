/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The identity provider as a worker knows it: what it says of itself (OpenID Connect Discovery) and
 * its keys, each asked for when needed and kept for a while. Requests go to HTTPS addresses only,
 * follow no redirect, take at most some seconds and bring a bounded answer.
 */
#pragma once

#include <jansson.h>

#include "config/settings.h"

struct oidc_provider;

/* NULL when the settings name none. They are borrowed. */
struct oidc_provider *oidc_provider_new(const struct settings *settings);
void oidc_provider_free(struct oidc_provider *provider);

/* The address to which a browser goes to sign in; borrowed. Errors: ERR_RUNTIME_UNAVAILABLE (no
 * answer), ERR_CONFIG (one that is no use). */
int oidc_provider_authorization(struct oidc_provider *provider, const char **endpoint,
                                struct error **err);

/* The ID token for a code; new, for mem_wipe_free(). Errors: ERR_INVALID_CREDENTIALS when the
 * provider does not take the code, and those of oidc_provider_authorization(). */
int oidc_provider_exchange(struct oidc_provider *provider, const char *code, const char *verifier,
                           const char *redirect_uri, char **token, struct error **err);

/* The keys, borrowed until the next call; those asked for anew, once a minute at most, when none
 * has that id ("": any will do). Errors: those of oidc_provider_authorization(). */
int oidc_provider_keys(struct oidc_provider *provider, const char *key_id, const json_t **keys,
                       struct error **err);
