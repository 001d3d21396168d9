/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache from the side of authentication; for this folder only. */
#pragma once

#include "account/api_key_row.h"
#include "account/principal_cache.h"

/* As api_key_row_find(), from the cache where that holds; NULL: there is none. */
int principal_cache_find(struct principal_cache *cache, struct db *db, const char *lookup,
                         struct api_key_credential *credential, struct principal *principal,
                         struct error **err);

/* Whether the cache has the key, of whatever revision: principal->revision says of which. */
bool principal_cache_look(struct principal_cache *cache, const char *lookup,
                          struct api_key_credential *credential, struct principal *principal);

/* The key was used, and its row says so. */
void principal_cache_used(struct principal_cache *cache, const char *lookup, int64_t now_ms);
