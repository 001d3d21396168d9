/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys that reach a team, for the team's owners. Owners see all their own keys. They see a key of
 * another member only when the key names the team or was used in it. */
#pragma once

#include "account/account.h"

#define TEAM_KEYS_MAX 10000

struct team_key {
    char id[ID_SIZE];
    char user_name[SLUG_MAX + 1];
    char name[65 * 4];
    bool is_ssh, can_write, all_teams;
    bool is_bound; /* it also ends with the sign-in that created it */
    /* 0: not set. last_used_at_ms: in this team; of an own key, anywhere. */
    int64_t created_at_ms, expires_at_ms, last_used_at_ms;
};

/* List the valid keys that reach the team and that this owner may see, newest first. The caller
 * frees the array. */
int team_key_list(struct db *db, const char *team_id, const char *owner_id, struct team_key **keys,
                  unsigned *count, struct error **err);

/* Exclude a key from the team, from the next request on. This owner must be allowed to see it. The
 * key still reaches all its other teams, later ones too. A key that named this team alone is
 * revoked. Errors: ERR_NOT_FOUND. */
int team_key_exclude(struct db *db, const char *team_id, const char *owner_id, const char *key_id,
                     struct error **err);
