/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way out that sandboxes of a team get whose policy says nothing about it (egress_proxy.h). */
#pragma once

#include <jansson.h>

#include "db/db.h"

/* Read it; *proxy is a new reference, or NULL. */
int team_proxy_get(struct db *db, const char *team_id, json_t **proxy, struct error **err);

/* Replace it; NULL: the team has none. Sandboxes that exist keep theirs. Errors:
 * ERR_INVALID_REQUEST with the member, below /egress_proxy. */
int team_proxy_put(struct db *db, const char *team_id, const json_t *proxy, struct error **err);
