/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/invite.h"

#include "base/clock.h"
#include "base/mem.h"
#include "login/invite_row.h"

#define ID_PREFIX "inv_"

/* Make the text and the values of a new invite; the caller wipes put->kept. */
static int new_invite(const struct keyring *ring, const struct settings *settings,
                      struct invite_put *put, char text[SECRET_TEXT_SIZE], struct error **err)
{
    put->expires_at_ms = clock_in_s(settings->invite_ttl_s);
    return secret_text_new(ring, ID_PREFIX, put->id, text, &put->kept, err);
}

int invite_create(struct db *db, const struct keyring *ring, const struct settings *settings,
                  const char *user_id, char text[SECRET_TEXT_SIZE], int64_t *expires_at_ms,
                  struct error **err)
{
    struct invite_put put = {.user_id = user_id};
    int result = new_invite(ring, settings, &put, text, err);
    if (result == 0)
        result = db_transaction(db, invite_row_put, &put, err);
    *expires_at_ms = put.expires_at_ms;
    mem_wipe(&put.kept, sizeof put.kept);
    return result;
}

static int put_for_new(struct db *db, const struct user *user, void *context, struct error **err)
{
    struct invite_put *put = context;
    put->user_id = user->id;
    return invite_row_put(db, put, err);
}

int invite_create_user(struct db *db, const struct keyring *ring, const struct settings *settings,
                       const char *name, struct user *user, char text[SECRET_TEXT_SIZE],
                       int64_t *expires_at_ms, struct error **err)
{
    struct invite_put put = {0};
    int result = new_invite(ring, settings, &put, text, err);
    if (result == 0)
        result = user_create_and(db, name, put_for_new, &put, user, err);
    *expires_at_ms = put.expires_at_ms;
    mem_wipe(&put.kept, sizeof put.kept);
    return result;
}

static int refuse(struct error **err)
{
    return error_set_field(err, ERR_INVALID_CREDENTIALS, "/token",
                           "This invite is unknown, was used, or has expired; ask for another.");
}

int invite_find(struct db *db, const struct keyring *ring, const char *text, struct invite *invite,
                struct error **err)
{
    char user_id[ID_SIZE];
    struct secret_hash kept = {0};
    if (secret_text_id(ID_PREFIX, text, invite->id) < 0)
        return refuse(err);
    if (invite_row_find(db, invite, &kept, user_id, err) < 0)
        return -1;
    if (!user_id[0] || !secret_text_matches(ring, text, &kept))
        return refuse(err);
    if (credential_get_by_id(db, user_id, &invite->credential, err) < 0)
        return -1;
    return invite->credential.is_disabled ? refuse(err) : 0;
}
