/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows behind invites; for this folder only. */
#pragma once

#include "login/invite.h"

struct invite_put {
    const char *user_id;
    char id[ID_SIZE];
    struct secret_hash kept;
    int64_t expires_at_ms;
};

/* Write an invite in place of the user's earlier one, inside a transaction. context: struct
 * invite_put. */
int invite_row_put(struct db *db, void *context, struct error **err);

/* Find the valid invite with invite->id, and read its end. user_id "": there is no such invite. */
int invite_row_find(struct db *db, struct invite *invite, struct secret_hash *kept,
                    char user_id[ID_SIZE], struct error **err);
