/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens of SSH sessions; for this folder only. */
#pragma once

#include "account/api_key.h"
#include "account/api_key_row.h"

#define SSH_TOKEN_PREFIX "sls_"

/* The lookup part of the key that a valid, unexpired token was made for. Returns 0 or -1. */
int ssh_token_open(const struct keyring *ring, const char *token,
                   char lookup[API_KEY_LOOKUP_LENGTH + 1]);
