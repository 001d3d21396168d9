/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SSH user certificates (PROTOCOL.certkeys of OpenSSH): an authority of the operator vouches that a
 * key belongs to a user. Authorities have keys of type ssh-ed25519. They can certify each type of
 * key that a user can add. Exactly one principal of a certificate is for this service: a prefix
 * that the operator chooses, then the user's name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "account/api_key.h"

#define SSH_CERTIFICATE_MAX 8192 /* bytes */
#define SSH_AUTHORITIES_MAX 16

struct ssh_authority {
    char *text; /* its public key, as in a .pub file without the comment; owned */
    char fingerprint[SSH_FINGERPRINT_SIZE];
    unsigned char key[32];
};

struct ssh_authorities {
    struct ssh_authority list[SSH_AUTHORITIES_MAX];
    unsigned count;
};

/* Read a file of public keys, one a line. Empty lines and lines that begin with # are ignored.
 * Errors: ERR_CONFIG. */
int ssh_authorities_read(const char *path, struct ssh_authorities *authorities, struct error **err);
void ssh_authorities_deinit(struct ssh_authorities *authorities);

struct ssh_certificate {
    const struct ssh_authority *authority;
    char user_name[SLUG_MAX + 1];
    char label[128 + 1]; /* the key id that the authority gave it; "": too long, or not printable
                          * text */
    uint64_t serial;
    bool allows_terminals, allows_ports;
};

/* Check a certificate in base64. Errors: ERR_UNAUTHORIZED with the reason, for the log. */
int ssh_certificate_check(const struct ssh_authorities *authorities, const char *prefix,
                          const char *base64, int64_t now_ms, struct ssh_certificate *certificate,
                          struct error **err);

/* Find the certificate's user, and check that the user may sign in. Errors: ERR_UNAUTHORIZED. */
int ssh_certificate_user(struct db *db, const struct ssh_certificate *certificate,
                         struct user *user, struct error **err);

/* Sign in the certificate's user. All certificates of one user and one authority share an SSH key
 * of the user; the first sign-in makes this key. Its fingerprint is unique. Errors:
 * ERR_UNAUTHORIZED, ERR_INVALID_REQUEST (the user has API_KEYS_MAX keys). */
int ssh_certificate_login(struct db *db, const struct keyring *ring,
                          const struct ssh_certificate *certificate,
                          char fingerprint[SSH_FINGERPRINT_SIZE], struct ssh_login *login,
                          struct error **err);
