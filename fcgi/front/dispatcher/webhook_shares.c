/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/webhook_shares.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/ulid.h"

struct webhook_share {
    char id[ID_SIZE];
    unsigned users; /* the number of joins without a leave */
    unsigned sending;
};

void webhook_shares_init(struct webhook_shares *shares)
{
    *shares = (struct webhook_shares){.by_id = json_object()};
}

void webhook_shares_deinit(struct webhook_shares *shares)
{
    const char *id;
    json_t *address;
    json_object_foreach (shares->by_id, id, address)
        free((void *)(intptr_t)json_integer_value(address));
    json_decref(shares->by_id);
}

struct webhook_share *webhook_share_join(struct webhook_shares *shares, const char *id)
{
    struct webhook_share *share =
        (void *)(intptr_t)json_integer_value(json_object_get(shares->by_id, id));
    if (!share) {
        share = xcalloc(1, sizeof *share);
        snprintf(share->id, sizeof share->id, "%s", id);
        json_object_set_new(shares->by_id, share->id, json_integer((intptr_t)share));
    }
    share->users++;
    return share;
}

void webhook_share_leave(struct webhook_shares *shares, struct webhook_share *share)
{
    if (--share->users)
        return;
    json_object_del(shares->by_id, share->id);
    free(share);
}

bool webhook_share_has_room(const struct webhook_shares *shares, const struct webhook_share *team,
                            const struct webhook_share *user)
{
    bool busy = shares->sending >= WEBHOOK_AHEAD_ALL / 2;
    unsigned most = busy ? WEBHOOK_AHEAD_BUSY : WEBHOOK_AHEAD_TENANT;
    return shares->sending < WEBHOOK_AHEAD_ALL && team->sending < most && user->sending < most;
}

void webhook_share_begin(struct webhook_shares *shares, struct webhook_share *team,
                         struct webhook_share *user)
{
    shares->sending++;
    team->sending++;
    user->sending++;
}

void webhook_share_end(struct webhook_shares *shares, struct webhook_share *team,
                       struct webhook_share *user)
{
    shares->sending--;
    team->sending--;
    user->sending--;
}
