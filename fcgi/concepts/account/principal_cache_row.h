/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of the cache that authentication uses; for this folder only. */
#pragma once

#include "account/api_key_row.h"
#include "account/principal_cache.h"

/* Find a key as api_key_row_find() does, from the cache while the entry is valid. cache NULL:
 * always from the database. */
int principal_cache_find(struct principal_cache *cache, struct db *db, const char *lookup,
                         struct api_key_credential *credential, struct principal *principal,
                         struct error **err);

/* Find a key in the cache; it is valid for the access revision principal->revision. */
bool principal_cache_look(struct principal_cache *cache, const char *lookup,
                          struct api_key_credential *credential, struct principal *principal);

/* Note in the cache that the key's use was recorded in its row. */
void principal_cache_used(struct principal_cache *cache, const char *lookup, int64_t now_ms);
