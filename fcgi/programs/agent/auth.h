/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The secret that the edge and the control plane share with this agent. It comes with the first
 * POST /init; only a digest of it stays, and that in memory: whoever may read the agent's memory,
 * or a memory image of the sandbox, does not find the secret there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define AUTH_SECRET_HEX   64
#define AUTH_DIGEST_BYTES 32
#define AUTH_HEADER       "X-Sandlot-Agent-Secret"

struct auth {
    bool known;
    unsigned char digest[AUTH_DIGEST_BYTES];
};

/* Adopt a secret. Returns 0, or -1 when it is not 64 hexadecimal digits. */
int auth_set(struct auth *auth, const char *hex, size_t length);

/* Whether this is the secret; takes the same time for every wrong one. False while none is known.
 */
bool auth_matches(const struct auth *auth, const char *hex, size_t length);
