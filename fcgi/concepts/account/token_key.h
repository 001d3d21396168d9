/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The API keys that got tokens of each sandbox. When a key ends, so do these tokens
 * (access_end.h). */
#pragma once

#include "account/api_key.h"

/* Record that the principal's key gets a token of the sandbox of a team, before the token is
 * issued. A sign-in needs no row; nor does an SSH key, whose tokens stay in sandlot-ssh.
 *
 * Call it after the session epoch of the token was read. A request may have waited since its
 * authorization, so the access is checked once more. An access that ends later begins another
 * epoch. Errors: ERR_UNAUTHORIZED (the key has ended meanwhile), ERR_INSUFFICIENT_SCOPE (the user,
 * the key or the sign-in may not write in the team any more). */
int token_key_note(struct db *db, const struct principal *principal, const char *sandbox_id,
                   const char *team_id, struct error **err);

/* Only record it, for a sandbox that the caller's transaction creates, so it has no row yet. */
int token_key_note_new(struct db *db, const struct principal *principal, const char *sandbox_id,
                       struct error **err);

/* For the dispatcher: end the tokens of one key that has expired. *worked: there was one. After a
 * failure, other expired keys come first for two seconds. If the database takes no change at all,
 * *worked is false, so that the dispatcher waits a moment. */
int token_key_expire_next(struct db *db, bool *worked, struct error **err);
