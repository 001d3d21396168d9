/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that policies deny. A firewall looks their addresses up again and again, and has room for
 * so many: each team has a share of that, however many sandboxes it has.
 */
#pragma once

#include "db/db.h"

/* Inside a transaction that holds the team's row: whether the sandbox may have this policy (stored
 * form), with what the team's other sandboxes that are not deleted deny already; each name counts
 * once. sandbox_id: whose former policy does not count. Errors: ERR_INVALID_REQUEST with the field
 * /deny_out when the team's names are more than max. */
int denied_names_admit(struct db *db, const char *team_id, const char *sandbox_id,
                       const char *network, unsigned max, struct error **err);
