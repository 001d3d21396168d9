/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/invite.h"

#include "base/clock.h"
#include "base/mem.h"
#include "login/invite_row.h"

#define ID_PREFIX "inv_"

int invite_create(struct db *db, const struct keyring *ring, const struct settings *settings,
                  const char *user_id, char text[SECRET_TEXT_SIZE], int64_t *expires_at_ms,
                  struct error **err)
{
    char id[ID_SIZE];
    struct secret_hash kept;
    *expires_at_ms = clock_in_s(settings->invite_ttl_s);
    int result = secret_text_new(ring, ID_PREFIX, id, text, &kept, err);
    if (result == 0)
        result = invite_row_put(db, id, user_id, &kept, *expires_at_ms, err);
    mem_wipe(&kept, sizeof kept);
    return result;
}

static int refuse(struct error **err)
{
    return error_set_field(err, ERR_INVALID_CREDENTIALS, "/token",
                           "This invite is unknown, used already, or too old; ask for another.");
}

int invite_find(struct db *db, const struct keyring *ring, const char *text, struct invite *invite,
                struct error **err)
{
    char user_id[ID_SIZE];
    struct secret_hash kept = {0};
    if (secret_text_id(ID_PREFIX, text, invite->id) < 0)
        return refuse(err);
    if (invite_row_find(db, invite->id, &kept, user_id, err) < 0)
        return -1;
    if (!user_id[0] || !secret_text_matches(ring, text, &kept))
        return refuse(err);
    if (credential_get_by_id(db, user_id, &invite->credential, err) < 0)
        return -1;
    return invite->credential.is_disabled ? refuse(err) : 0;
}
