/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The secrets of cookies, invites and similar tokens: `<prefix><ULID>_<43 secret characters>`. The
 * first part is the id of a row. The row has only a keyed hash of the secret. */
#pragma once

#include "base/ulid.h"
#include "crypto/mac.h"

#define SECRET_LENGTH    43
#define SECRET_TEXT_SIZE (ID_SIZE + 1 + SECRET_LENGTH)

/* The hash that a row keeps. */
struct secret_hash {
    uint16_t key_id;
    unsigned char hash[MAC_BYTES];
};

/* Make an id and a secret. text: both together, for its owner only. */
int secret_text_new(const struct keyring *ring, const char *id_prefix, char id[ID_SIZE],
                    char text[SECRET_TEXT_SIZE], struct secret_hash *kept, struct error **err);

/* Read the id from a text. Returns -1 for a text of another form. */
int secret_text_id(const char *id_prefix, const char *text, char id[ID_SIZE]);

/* Return whether the secret in a well-formed text has this hash. */
bool secret_text_matches(const struct keyring *ring, const char *text,
                         const struct secret_hash *kept);

/* Hash any other text that must be recognised later. */
int secret_hash_text(const struct keyring *ring, uint16_t key_id, const char *text,
                     unsigned char hash[MAC_BYTES], struct error **err);
