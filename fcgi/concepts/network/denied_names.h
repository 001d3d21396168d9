/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that policies deny. A firewall looks up their addresses again and again, and has room for a
 * limited number. Each team has a share of this number, independent of how many sandboxes it has.
 */
#pragma once

#include "db/db.h"

/* Check whether the sandbox may have this policy (stored form). Call it inside a transaction that
 * holds the team's row. The names count together with those that the team's other sandboxes deny,
 * each name once. Deleted sandboxes and the previous policy of sandbox_id do not count. Errors:
 * ERR_INVALID_REQUEST with the field /deny_out when the team's names are more than max. */
int denied_names_admit(struct db *db, const char *team_id, const char *sandbox_id,
                       const char *network, unsigned max, struct error **err);
