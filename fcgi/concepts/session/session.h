/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access tokens of the data plane: `slt_` and the base64url of version, key id, expiry, sandbox id
 * and a MAC over them. They are verified without the database; a destroyed sandbox takes its
 * tokens with it because its route is gone. Pausing does not end them, so that the request which
 * wakes a sandbox can carry the token it got before the pause.
 *
 * A lasting token has no expiry and lives as long as its sandbox. It carries the epoch of the
 * sandbox's sessions, a number in its row; when that is moved on, such tokens end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ulid.h"
#include "crypto/keyring.h"

#define SESSION_TOKEN_SIZE 128

struct session {
    char token[SESSION_TOKEN_SIZE];
    int64_t expires_at_ms; /* 0: a lasting one */
};

/* What a valid token says. */
struct session_claim {
    char sandbox_id[ID_SIZE];
    bool is_lasting;
    uint32_t epoch; /* of a lasting one */
};

/* A token for the sandbox that lives about ttl_s seconds from now. A thirty-second of that is the
 * finest step of its end (it is never later), so that session_any() has few tokens to try. */
int session_issue(const struct keyring *ring, const char *sandbox_id, uint64_t ttl_s,
                  struct session *session, struct error **err);

/* The lasting token of the sandbox. */
int session_issue_lasting(const struct keyring *ring, const char *sandbox_id, uint32_t epoch,
                          struct session *session, struct error **err);

/* What a valid, unexpired token says. NULL and everything that is no such token are the same
 * ERR_UNAUTHORIZED; nothing but the key ring is asked. */
int session_open(const struct keyring *ring, const char *token, struct session_claim *claim,
                 struct error **err);

/* Whether the token was made for this sandbox, in this epoch of its sessions. */
bool session_fits(const struct session_claim *claim, const char *sandbox_id, uint32_t epoch);

/* Call matches() with each token of the sandbox that session_issue() may have made with this ttl_s
 * and that is still valid, newest end first, and with the lasting one, until it returns true; a few
 * dozen at most. This is
 * how something is verified that was made with a token by somebody who does not send it. Tokens
 * of the newest key and of the one before count. Returns whether one matched. */
bool session_any(const struct keyring *ring, const char *sandbox_id, uint32_t epoch, uint64_t ttl_s,
                 bool (*matches)(const char *token, void *context), void *context);

/* Overwrite the token. */
void session_wipe(struct session *session);
