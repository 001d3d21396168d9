/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access tokens of sandboxes: `slt_` and the base64url of version, key id, port, expiry, epoch,
 * sandbox id and a MAC over all these. The version says which addresses a token opens: the data
 * plane and every private preview, or previews alone.
 *
 * Tokens are verified without the database. Those of a destroyed sandbox open nothing, because its
 * route is gone. A pause does not end a token: a request that wakes the sandbox can carry the token
 * from before the pause.
 *
 * A lasting token has no expiry and lives as long as its sandbox. Each token carries the epoch of
 * the sandbox's sessions, a number in the sandbox's row. A new epoch ends all older tokens.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ulid.h"
#include "crypto/keyring.h"

#define SESSION_TOKEN_SIZE 128

struct session {
    char token[SESSION_TOKEN_SIZE];
    int64_t expires_at_ms; /* 0: the token is lasting */
};

/* The addresses that a token opens. SESSION_ALL: the data plane and all private previews. */
struct session_scope {
    bool is_preview; /* previews only, and never the data plane */
    uint16_t port;   /* with is_preview: only the preview of this port; 0: of all ports */
};

#define SESSION_ALL ((struct session_scope){.is_preview = false})

/* The contents of a valid token. */
struct session_claim {
    char sandbox_id[ID_SIZE];
    struct session_scope scope;
    bool is_lasting;
    uint32_t epoch;
    int64_t expires_at_ms; /* of other tokens */
};

/* Make a token for the sandbox that expires about ttl_s seconds from now, never later. Its end is
 * rounded down to steps of at most a thirty-second of ttl_s, so that session_any() has few tokens
 * to try. */
int session_issue(const struct keyring *ring, const char *sandbox_id, struct session_scope scope,
                  uint32_t epoch, uint64_t ttl_s, struct session *session, struct error **err);

/* Make the lasting token of the sandbox. */
int session_issue_lasting(const struct keyring *ring, const char *sandbox_id,
                          struct session_scope scope, uint32_t epoch, struct session *session,
                          struct error **err);

/* Make a token for the preview of one port that ends together with the claim's token. */
int session_narrow(const struct keyring *ring, const struct session_claim *claim, uint16_t port,
                   struct session *session, struct error **err);

/* Read a valid, unexpired token. NULL and every text that is not such a token give the same
 * ERR_UNAUTHORIZED. The key ring is enough; the database is not queried. */
int session_open(const struct keyring *ring, const char *token, struct session_claim *claim,
                 struct error **err);

/* Check whether the token was made for this sandbox, in this epoch of its sessions. */
bool session_fits(const struct session_claim *claim, const char *sandbox_id, uint32_t epoch);

/* Check whether the token opens the preview of this port, or with port 0 the data plane. */
bool session_opens(const struct session_claim *claim, uint16_t port);

/* Call matches() with each possible token of the sandbox until it returns true; return whether it
 * did. The tokens are the valid ones that session_issue() may have made with this ttl_s, the
 * latest end first, and the lasting token. They are a few dozen at most. Tokens for previews alone
 * are left out. Tokens of the newest key and of the previous key count. The gate verifies a signed
 * link this way: the client signed it with a token that it does not send. */
bool session_any(const struct keyring *ring, const char *sandbox_id, uint32_t epoch, uint64_t ttl_s,
                 bool (*matches)(const char *token, void *context), void *context);

/* Overwrite the token. */
void session_wipe(struct session *session);
