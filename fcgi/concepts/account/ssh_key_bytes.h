/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What public keys and certificates of SSH are made of (RFC 4251 section 5); for this folder only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "account/ssh_public_key.h"

/* A part of the bytes that are read. */
struct ssh_piece {
    const unsigned char *data;
    size_t size;
};

/* Take a string of the wire: four bytes of length, big-endian, and so many bytes. False: they are
 * not there. */
bool ssh_piece_take(const unsigned char **at, const unsigned char *end, struct ssh_piece *piece);
bool ssh_piece_is(const struct ssh_piece *piece, const char *text);

/* Take what stands behind the name in a key of that type. False: no such type, or it does not fit.
 */
bool ssh_key_bytes_take(const char *type, const unsigned char **at, const unsigned char *end);

void ssh_fingerprint(const unsigned char *bytes, size_t size,
                     char fingerprint[SSH_FINGERPRINT_SIZE]);
