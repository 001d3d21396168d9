/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The number of changes of what a request may do: keys revoked, users disabled, members and their
 * roles, plans of teams, the plans themselves. While it stands, what was read of them before holds.
 * One row for the whole deployment, so that a change counts for every worker of every front at
 * once.
 */
#pragma once

#include <stdint.h>

#include "db/db.h"

/* It is read before what it vouches for. */
int access_revision_get(struct db *db, uint64_t *revision, struct error **err);

/* Inside the transaction that makes such a change, as the last statement: the row is everybody's
 * and stays locked until the commit. */
int access_revision_bump(struct db *db, struct error **err);
