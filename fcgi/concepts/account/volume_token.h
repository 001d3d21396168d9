/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens that open the files of one volume and nothing else. A token is made with an API key: it
 * has the key's scope and teams, and ends with the key. */
#pragma once

#include "account/api_key.h"
#include "crypto/keyring.h"

#define VOLUME_TOKEN_PREFIX "slv_"
#define VOLUME_TOKEN_SIZE   160

/* Make a token with the principal's key. Errors: those of mac_compute(). */
int volume_token_make(const struct keyring *ring, const struct principal *principal,
                      const char *volume_id, char token[VOLUME_TOKEN_SIZE], struct error **err);

/* Check a token, and return the lookup part of its key and the volume. Returns 0 or -1. */
int volume_token_open(const struct keyring *ring, const char *token, char lookup[13],
                      char volume_id[ID_SIZE]);
