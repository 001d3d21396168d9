/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Certificates by which an authority of the operator says whose an SSH key is (PROTOCOL.certkeys of
 * OpenSSH). Authorities have keys of type ssh-ed25519; what they certify is any key that could be
 * added. Of a certificate's principals one is of this service, which is the user's name behind a
 * prefix that the operator chooses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
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

/* Read a file of public keys, one a line; lines that are empty or begin with # say nothing.
 * Errors: ERR_CONFIG. */
int ssh_authorities_read(const char *path, struct ssh_authorities *authorities, struct error **err);
void ssh_authorities_deinit(struct ssh_authorities *authorities);

struct ssh_certificate {
    const struct ssh_authority *authority;
    char user_name[SLUG_MAX + 1];
    char label[128 + 1]; /* the authority's name for it; "" when it is too long or no text */
    uint64_t serial;
    bool allows_terminals, allows_ports;
};

/* Check one, in base64. Errors: ERR_UNAUTHORIZED with what is wrong with it, for the log. */
int ssh_certificate_check(const struct ssh_authorities *authorities, const char *prefix,
                          const char *base64, int64_t now_ms, struct ssh_certificate *certificate,
                          struct error **err);

/* Whether its user may sign in. Errors: ERR_UNAUTHORIZED. */
int ssh_certificate_user(struct db *db, const struct ssh_certificate *certificate,
                         struct user *user, struct error **err);

/* Who it signs in: as an SSH key of the user for certificates of that authority, which the first of
 * them makes. Its fingerprint is nobody's else. Errors: ERR_UNAUTHORIZED. */
int ssh_certificate_login(struct db *db, const struct keyring *ring,
                          const struct ssh_certificate *certificate,
                          char fingerprint[SSH_FINGERPRINT_SIZE], struct ssh_login *login,
                          struct error **err);
