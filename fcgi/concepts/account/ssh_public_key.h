/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Public keys in OpenSSH's format, one line: type, base64, and a comment.
 *
 * Formats: RFC 4253 section 6.6, RFC 5656, RFC 8709, and PROTOCOL.u2f of OpenSSH.
 */
#pragma once

#include "base/error.h"

#define SSH_FINGERPRINT_SIZE 44 /* SHA-256 in base64 without padding, and NUL */
#define SSH_PUBLIC_KEY_MAX   4096
#define SSH_RSA_BITS_MIN     2048

struct ssh_public_key {
    char *text; /* type and base64, without the comment; owned */
    char comment[65 * 4];
    char fingerprint[SSH_FINGERPRINT_SIZE];
};
void ssh_public_key_deinit(struct ssh_public_key *key);

/* Read the line. Errors: ERR_INVALID_REQUEST with the field and the reason. */
int ssh_public_key_parse(const char *line, const char *field, struct ssh_public_key *key,
                         struct error **err);
