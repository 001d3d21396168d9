/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the queries that find a principal; for the *_db.c files that authenticate. */
#pragma once

#include "account/api_key.h"
#include "account/member.h"

/* The most memberships that a query reads. Such a query has a row for each membership, and asks for
 * one row more. A user over the limit is refused; the list is never cut. Additions at the same time
 * may pass USER_TEAMS_MAX by some. */
#define PRINCIPAL_TEAMS_MAX (USER_TEAMS_MAX + 64)

/* Append the team in four columns from `first`: id, slug, plan and the user's role. NULL: append
 * nothing. */
void principal_row_append_team(const struct db_rows *rows, unsigned first,
                               struct principal *principal);

/* Check that this number of rows is the whole list. Errors: ERR_INTERNAL. */
int principal_row_check_count(const struct principal *principal, unsigned count,
                              struct error **err);
