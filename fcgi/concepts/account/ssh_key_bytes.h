/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of SSH public keys and certificates (RFC 4251 section 5); for this folder only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "account/ssh_public_key.h"

/* A part of the bytes; it points into them. */
struct ssh_piece {
    const unsigned char *data;
    size_t size;
};

/* Take a string of the wire format: a length of four bytes, big-endian, then the bytes. False: the
 * bytes end earlier. */
bool ssh_piece_take(const unsigned char **at, const unsigned char *end, struct ssh_piece *piece);
/* Return whether the part has exactly the bytes of the text. */
bool ssh_piece_is(const struct ssh_piece *piece, const char *text);

/* Take the bytes after the name in a key of the type. False: an unknown type, or wrong bytes. */
bool ssh_key_bytes_take(const char *type, const unsigned char **at, const unsigned char *end);

/* Write the SHA-256 of a key's bytes in base64, as ssh-keygen prints it after "SHA256:". */
void ssh_fingerprint(const unsigned char *bytes, size_t size,
                     char fingerprint[SSH_FINGERPRINT_SIZE]);
