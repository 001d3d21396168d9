/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows behind API keys; for this folder only. */
#pragma once

#include "account/api_key.h"
#include "crypto/mac.h"

#define API_KEY_LOOKUP_LENGTH 12
#define API_KEY_SECRET_LENGTH 43

/* The columns of a key that authentication needs. found: the row exists. */
struct api_key_credential {
    bool found;
    uint16_t hash_key_id;
    unsigned char hash[MAC_BYTES];
    int64_t expires_at_ms, revoked_at_ms, last_used_at_ms; /* 0: not set */
};

/* Read the credential of a lookup part and its principal, in one query. */
int api_key_row_find(struct db *db, const char *lookup, struct api_key_credential *credential,
                     struct principal *principal, struct error **err);

/* Record the use of a key, unless another worker has recorded one since before_ms. */
int api_key_row_used(struct db *db, const char *id, int64_t now_ms, int64_t before_ms,
                     struct error **err);

/* Insert a key and the teams that it names. The user must be a member of each. Fills in key->teams.
 * Errors: ERR_TEAM_FORBIDDEN, ERR_INVALID_REQUEST (the user has API_KEYS_MAX keys),
 * ERR_UNAUTHORIZED (the key that asks was revoked meanwhile), ERR_DB_DUPLICATE (the SSH public key
 * signs in a user already). */
int api_key_row_insert(struct db *db, const struct api_key_request *request, uint16_t hash_key_id,
                       const unsigned char hash[MAC_BYTES], struct api_key *key,
                       struct error **err);
