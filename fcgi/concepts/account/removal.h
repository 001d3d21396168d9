/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of users and teams. What a user made belongs to teams and stays with them; a team can
 * only go when nothing of it is left. */
#pragma once

#include "account/account.h"

/* Nobody reaches it from the next request on; its usage stays for the bill, its slug is free.
 * Errors: ERR_NOT_FOUND, ERR_INVALID_REQUEST (it still has sandboxes, volumes, checkpoints or
 * templates, is somebody's personal team, or the deployment's). */
int team_remove(struct db *db, const char *slug, struct error **err);

/* Keys, sign-ins and memberships go with the user. Of the teams that nobody else owns, the personal
 * one among them, the heir becomes an owner; without one (NULL) those that hold nothing, and in
 * which nobody else is, are removed. Errors: ERR_NOT_FOUND (user, heir), ERR_LAST_OWNER (a team
 * that holds something would be left without an owner). */
int user_remove(struct db *db, const char *name, const char *heir, struct error **err);
