/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access tokens of the data plane: `slt_` and the base64url of version, key id, expiry, sandbox id
 * and a MAC over them. They are verified without the database; a destroyed sandbox takes its
 * tokens with it because its route is gone. Pausing does not end them, so that the request which
 * wakes a sandbox can carry the token it got before the pause.
 */
#pragma once

#include <stdint.h>

#include "base/ulid.h"
#include "crypto/keyring.h"

#define SESSION_TOKEN_SIZE 128

struct session {
    char token[SESSION_TOKEN_SIZE];
    int64_t expires_at_ms;
};

/* A token for the sandbox that lives ttl_s seconds from now. */
int session_issue(const struct keyring *ring, const char *sandbox_id, uint64_t ttl_s,
                  struct session *session, struct error **err);

/* The sandbox that a valid, unexpired token is of. NULL and everything that is no such token are
 * the same ERR_UNAUTHORIZED; nothing but the key ring is asked. */
int session_open(const struct keyring *ring, const char *token, char sandbox_id[ID_SIZE],
                 struct error **err);

/* Overwrite the token. */
void session_wipe(struct session *session);
