/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the team of a sandbox, volume or checkpoint with one read by primary key. */
#pragma once

#include "base/ulid.h"
#include "db/db.h"

/* Return whether an id is of one of these kinds. */
bool share_has_team(const char *id);

struct share_facts {
    bool runs, has_hooks;
};

/* Read facts about a sandbox. id: its id, or its route. An unknown sandbox has none. */
int share_facts_of(struct db *db, const char *id, struct share_facts *facts, struct error **err);

/* Read the team of an object. Errors: ERR_NOT_FOUND, those of db_query(). */
int share_team_of(struct db *db, const char *id, char team[ID_SIZE], struct error **err);
