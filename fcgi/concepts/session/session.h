/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access tokens of sandboxes: `slt_` and the base64url of version, key id, port, expiry, sandbox id
 * and a MAC over them. The version says what a token opens: the data plane and every private
 * preview, or previews alone. They are verified without the database; a destroyed sandbox takes its
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

/* What a token opens. SESSION_ALL: the data plane and all private previews. */
struct session_scope {
    bool is_preview; /* previews only, and never the data plane */
    uint16_t port;   /* of is_preview: the preview of this port alone; 0: those of all ports */
};

#define SESSION_ALL ((struct session_scope){.is_preview = false})

/* What a valid token says. */
struct session_claim {
    char sandbox_id[ID_SIZE];
    struct session_scope scope;
    bool is_lasting;
    uint32_t epoch;        /* of a lasting one */
    int64_t expires_at_ms; /* of the others */
};

/* A token for the sandbox that lives about ttl_s seconds from now. A thirty-second of that is the
 * finest step of its end (it is never later), so that session_any() has few tokens to try. */
int session_issue(const struct keyring *ring, const char *sandbox_id, struct session_scope scope,
                  uint64_t ttl_s, struct session *session, struct error **err);

/* The lasting token of the sandbox. */
int session_issue_lasting(const struct keyring *ring, const char *sandbox_id,
                          struct session_scope scope, uint32_t epoch, struct session *session,
                          struct error **err);

/* A token for the preview of one port that ends when the claim's token does. */
int session_narrow(const struct keyring *ring, const struct session_claim *claim, uint16_t port,
                   struct session *session, struct error **err);

/* What a valid, unexpired token says. NULL and everything that is no such token are the same
 * ERR_UNAUTHORIZED; nothing but the key ring is asked. */
int session_open(const struct keyring *ring, const char *token, struct session_claim *claim,
                 struct error **err);

/* Whether the token was made for this sandbox, in this epoch of its sessions. */
bool session_fits(const struct session_claim *claim, const char *sandbox_id, uint32_t epoch);

/* Whether the token opens the preview of this port, or with port 0 the data plane. */
bool session_opens(const struct session_claim *claim, uint16_t port);

/* Call matches() with each token of the sandbox that session_issue() may have made with this ttl_s
 * and that is still valid, newest end first, and with the lasting one, until it returns true; a few
 * dozen at most. Tokens that open previews only do not count. This is how the gate verifies a
 * signature that a client made with a token which it does not send. Tokens of the newest key and of
 * the one before count. Returns whether one matched. */
bool session_any(const struct keyring *ring, const char *sandbox_id, uint32_t epoch, uint64_t ttl_s,
                 bool (*matches)(const char *token, void *context), void *context);

/* Overwrite the token. */
void session_wipe(struct session *session);
