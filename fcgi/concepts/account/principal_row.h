/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the queries that find a principal have in common; for *_db.c that authenticate. */
#pragma once

#include "account/api_key.h"

/* More memberships than a request may carry; a user who reaches it is refused, never cut short.
 * Such a query has a row for each and is limited to one more. */
#define PRINCIPAL_TEAMS_MAX 4096

/* Append the team in the four columns from first: id, slug, plan and the user's role in it; nothing
 * for NULL. */
void principal_row_append_team(const struct db_rows *rows, unsigned first,
                               struct principal *principal);

/* Whether that many rows are all. Errors: ERR_INTERNAL. */
int principal_row_check_count(const struct principal *principal, unsigned count,
                              struct error **err);
