/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remove users and teams. Things that a user made belong to teams and stay there. A team can be
 * removed only when it holds nothing. */
#pragma once

#include "account/account.h"

/* Remove a team: no request reaches it from now on, and its members, webhooks, secrets and egress
 * proxy are deleted. Its usage stays for the bill; its slug is free again. Errors: ERR_NOT_FOUND,
 * ERR_INVALID_REQUEST (it still has sandboxes, volumes, checkpoints or templates, is a personal
 * team, or the deployment's). */
int team_remove(struct db *db, const char *slug, struct error **err);

/* Remove a user with keys, sign-ins and memberships. The heir becomes an owner of the teams that
 * have no other owner, also of the personal one. Without an heir (NULL), such teams are removed if
 * they hold nothing and have no other members. Errors: ERR_NOT_FOUND (user, heir),
 * ERR_INVALID_REQUEST (the heir is the user), ERR_LAST_OWNER (another such team would be left
 * without an owner). */
int user_remove(struct db *db, const char *name, const char *heir, struct error **err);
