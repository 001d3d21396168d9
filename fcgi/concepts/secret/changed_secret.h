/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Give a changed secret to the sandboxes whose policies mention it: increment the revision of each
 * policy, so that a dispatcher applies it again.
 *
 * The sandboxes can be many, so a transaction locks the rows of a few. The row of the changed
 * secret says how far the work has come. It is written in the transaction that changes the secret,
 * so no sandbox is forgotten when a process dies. A policy always gets the present value: a sandbox
 * that is created or resumed meanwhile needs no second policy.
 */
#pragma once

#include "db/db.h"

/* In the transaction that changes or deletes a secret: record that its sandboxes need it. An
 * earlier change whose work has not ended begins again. */
int changed_secret_note(struct db *db, const char *team_id, const char *name, struct error **err);

/* Do the work of a change, for some seconds at most; a dispatcher does the rest. */
void changed_secret_spread(struct db *db, const char *team_id, const char *name);

/* Do the next piece of the work that is due, of the secret that has waited for longest. *worked:
 * something was due. After a failure, other secrets come first for two seconds. If the database
 * takes no change at all, *worked is false, so that the dispatcher waits a moment. */
int changed_secret_next(struct db *db, bool *worked, struct error **err);
