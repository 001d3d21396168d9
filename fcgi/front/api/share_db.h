/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose a sandbox, a volume or a checkpoint is, by one look at a primary key. */
#pragma once

#include "base/ulid.h"
#include "db/db.h"

/* Whether an id is one of these kinds. */
bool share_has_team(const char *id);

/* Errors: ERR_NOT_FOUND, those of db_query(). */
int share_team_of(struct db *db, const char *id, char team[ID_SIZE], struct error **err);
