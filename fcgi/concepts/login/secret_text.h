/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a cookie and the link of an invite carry: `<prefix><ULID>_<43 secret characters>`. The first
 * part is the id of a row, in which there is a keyed hash of the secret and nothing else of it. */
#pragma once

#include "base/ulid.h"
#include "crypto/mac.h"

#define SECRET_LENGTH    43
#define SECRET_TEXT_SIZE (ID_SIZE + 1 + SECRET_LENGTH)

/* What a row keeps. */
struct secret_hash {
    uint16_t key_id;
    unsigned char hash[MAC_BYTES];
};

/* A new id and secret; text is the whole of it, for its owner alone. */
int secret_text_new(const struct keyring *ring, const char *id_prefix, char id[ID_SIZE],
                    char text[SECRET_TEXT_SIZE], struct secret_hash *kept, struct error **err);

/* The id of a text of the right form; -1: it is none. */
int secret_text_id(const char *id_prefix, const char *text, char id[ID_SIZE]);

/* Whether the secret in a text of the right form is the one that was kept. */
bool secret_text_matches(const struct keyring *ring, const char *text,
                         const struct secret_hash *kept);

/* The hash of any other text that is to be found again. */
int secret_hash_text(const struct keyring *ring, uint16_t key_id, const char *text,
                     unsigned char hash[MAC_BYTES], struct error **err);
