/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens that open the files of one volume and nothing else. One is made with an API key, whose
 * scope and teams it has, and ends with it. */
#pragma once

#include "account/api_key.h"
#include "crypto/keyring.h"

#define VOLUME_TOKEN_PREFIX "slv_"
#define VOLUME_TOKEN_SIZE   160

/* With the key of the principal. Errors: those of mac_compute(). */
int volume_token_make(const struct keyring *ring, const struct principal *principal,
                      const char *volume_id, char token[VOLUME_TOKEN_SIZE], struct error **err);

/* The lookup part of the key that a valid token was made with, and the volume. Returns 0 or -1. */
int volume_token_open(const struct keyring *ring, const char *token, char lookup[13],
                      char volume_id[ID_SIZE]);
