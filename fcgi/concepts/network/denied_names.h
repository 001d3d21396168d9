/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that policies deny. A firewall looks up their addresses again and again, and has room for a
 * limited number. Each team has a share of this number, independent of how many sandboxes it has.
 * The names are in a table of their own, so that a change reads no policies of other sandboxes.
 */
#pragma once

#include "db/db.h"

/* Inside a transaction that has written the sandbox's row: replace the names of the sandbox by
 * those of its policy (stored form). Lock the team's row if there are any. The names count together
 * with those that the team's other sandboxes deny, each name once. Errors: ERR_INVALID_REQUEST with
 * the list or proxy that has names, when the team's names are more than max; then roll back. */
int denied_names_follow(struct db *db, const char *team_id, const char *sandbox_id,
                        const char *network, bool is_new_sandbox, unsigned max, struct error **err);

/* Delete the names of a sandbox that is deleted. */
int denied_names_forget(struct db *db, const char *sandbox_id, struct error **err);
