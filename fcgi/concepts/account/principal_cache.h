/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keys that a worker has seen lately, with their users and teams. Each request reads the access
 * revision (account/access_revision.h). When it has changed, the keys of the users whose rights
 * have changed are forgotten. A revoked key, a removed member and a disabled user are therefore
 * refused at the next request, and the keys of others stay known.
 */
#pragma once

#include "account/api_key.h"

/* Create a cache; each process has its own. */
struct principal_cache *principal_cache_new(void);
void principal_cache_free(struct principal_cache *cache); /* NULL is allowed */
