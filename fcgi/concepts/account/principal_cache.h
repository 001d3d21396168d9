/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keys that a worker has met lately, with whom they are of and what they reach. What is found
 * holds as long as the access revision stands (account/access_revision.h), so that a key that is
 * revoked, a member who is removed and a user who is disabled are refused at the next request.
 */
#pragma once

#include "account/api_key.h"

/* A cache of its own for each process. */
struct principal_cache *principal_cache_new(void);
void principal_cache_free(struct principal_cache *cache); /* NULL is fine */
