/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hash passwords with argon2id (crypto_pwhash_str of libsodium). Each call uses PASSWORD_MEMORY
 * bytes of memory and some tens of milliseconds of processor time. Callers limit the number of
 * calls at the same time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define PASSWORD_MIN       10 /* bytes */
#define PASSWORD_MAX       256
#define PASSWORD_HASH_SIZE 128 /* of the stored text: parameters, salt and hash */
/* RFC 9106, section 4, has 64 MiB and three passes as the second of its two choices. */
#define PASSWORD_MEMORY ((size_t)64 << 20)

/* Hash a password. Errors: ERR_INTERNAL (no memory). */
int password_hash(const char *password, char out[PASSWORD_HASH_SIZE], struct error **err);

/* Check a password against its hash. A NULL hash takes the same time and fails, so that the time
 * does not show which users have a password. */
bool password_matches(const char *hash, const char *password);
