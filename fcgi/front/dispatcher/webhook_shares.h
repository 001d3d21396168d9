/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Count the transfers of webhooks by team and by user, so that one tenant cannot use all transfers.
 *
 * While few transfers run, a tenant may have many. When half of all run, each tenant gets only a
 * few: so the other half is for tenants that have fewer.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include <jansson.h>

#define WEBHOOK_AHEAD_ALL    2048
#define WEBHOOK_AHEAD_TENANT 40 /* of a team, and of a user */
#define WEBHOOK_AHEAD_BUSY   4  /* the same, while half of all run */

/* The transfers of one tenant. */
struct webhook_share;

struct webhook_shares {
    json_t *by_id; /* the id of a tenant -> the address of its share */
    unsigned sending;
};

void webhook_shares_init(struct webhook_shares *shares);
void webhook_shares_deinit(struct webhook_shares *shares);

/* Return the share of a tenant; each call needs a webhook_share_leave(). */
struct webhook_share *webhook_share_join(struct webhook_shares *shares, const char *id);
void webhook_share_leave(struct webhook_shares *shares, struct webhook_share *share);

/* Return whether a transfer for this team and user may begin. */
bool webhook_share_has_room(const struct webhook_shares *shares, const struct webhook_share *team,
                            const struct webhook_share *user);
/* Count the beginning and the end of one. */
void webhook_share_begin(struct webhook_shares *shares, struct webhook_share *team,
                         struct webhook_share *user);
void webhook_share_end(struct webhook_shares *shares, struct webhook_share *team,
                       struct webhook_share *user);
