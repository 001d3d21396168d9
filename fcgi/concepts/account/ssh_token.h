/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens of SSH sessions; for this folder only. */
#pragma once

#include "account/api_key.h"
#include "account/api_key_row.h"

#define SSH_TOKEN_PREFIX "sls_"

/* Check a token. lookup: receives the lookup part of its key. Returns 0, or -1 for an invalid or
 * expired token. */
int ssh_token_open(const struct keyring *ring, const char *token,
                   char lookup[API_KEY_LOOKUP_LENGTH + 1]);
