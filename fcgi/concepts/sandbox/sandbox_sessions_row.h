/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statements of sandbox_sessions.c. */
#pragma once

#include "base/ulid.h"
#include "db/db.h"

/* Give the sandbox a new epoch of sessions. Its connections are due to be cut in ten seconds, if
 * the caller does not record before that it has cut them. */
int sandbox_sessions_row_end(struct db *db, const char *id, struct error **err);

/* Take a sandbox whose connections are due to be cut, for ten seconds. id is "" if there is no
 * such sandbox. Teams take turns. */
int sandbox_sessions_row_take(struct db *db, char id[ID_SIZE], struct error **err);

/* Record that the connections of this epoch are cut. With a newer epoch, the sandbox stays due. */
int sandbox_sessions_row_done(struct db *db, const char *id, uint32_t epoch, struct error **err);
