/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The API keys that got tokens of each sandbox. When a key ends, so do these tokens
 * (access_end.h). */
#pragma once

#include "account/api_key.h"

/* Record that the principal's key gets a token of the sandbox, before the token is issued. A
 * sign-in needs no row; nor does an SSH key, whose tokens stay in sandlot-ssh. Errors:
 * ERR_UNAUTHORIZED (the key has ended meanwhile). */
int token_key_note(struct db *db, const struct principal *principal, const char *sandbox_id,
                   struct error **err);

/* Do the same for a sandbox that the caller's transaction creates, so it has no row yet. */
int token_key_note_new(struct db *db, const struct principal *principal, const char *sandbox_id,
                       struct error **err);

/* For the dispatcher: end the tokens of one key that has expired. *worked: there was one. */
int token_key_expire_next(struct db *db, bool *worked, struct error **err);
