/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The access revision counts the changes of access rights: revoked keys, disabled users, members
 * and their roles, plans of teams, the plans themselves. While it stays the same, rights that were
 * read earlier are still valid. After a change, only the rights of the users that it concerns are
 * read again.
 *
 * One row holds the revision for the whole deployment, so each worker of each front node sees a
 * change at once. The latest changes are kept with their users.
 */
#pragma once

#include <stdint.h>

#include "base/ulid.h"
#include "db/db.h"

#define ACCESS_CHANGES_MAX 1024 /* that are kept */
#define ACCESS_OF_ALL      ""   /* instead of a user's id: a change of an operator */

/* Read the revision. Read it before the rights that it vouches for. */
int access_revision_get(struct db *db, uint64_t *revision, struct error **err);

/* Increment the revision, because the rights of a user change. Call it inside the transaction that
 * changes the rights, at its end: all such changes lock a row until their commit. */
int access_revision_bump(struct db *db, const char *user_id, struct error **err);

/* The users whose rights have changed. */
struct access_changes {
    bool all; /* more, or not known */
    unsigned count;
    char user_ids[ACCESS_CHANGES_MAX][ID_SIZE];
};

/* Read the changes after the revision `from` up to the revision `to`, which was read before. */
int access_changes_read(struct db *db, uint64_t from, uint64_t to, struct access_changes *changes,
                        struct error **err);

/* Return whether the rights of a user may have changed. */
bool access_changes_concern(const struct access_changes *changes, const char *user_id);
