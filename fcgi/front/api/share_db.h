/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the team of a sandbox, volume or checkpoint with one read by primary key. */
#pragma once

#include "base/ulid.h"
#include "db/db.h"

/* Return whether an id is of one of these kinds. */
bool share_has_team(const char *id);

/* Read whether a sandbox has hooks that a request may wait for. id: its id, or its route. wakes:
 * the request makes the sandbox run, and waits for nothing when it runs already. */
int share_waits_for_hook(struct db *db, const char *id, bool wakes, bool *waits,
                         struct error **err);

/* Read the team of an object. Errors: ERR_NOT_FOUND, those of db_query(). */
int share_team_of(struct db *db, const char *id, char team[ID_SIZE], struct error **err);
