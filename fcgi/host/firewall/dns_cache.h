/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of the upstreams for their time to live, bounded: what was used longest ago goes first.
 * Times are monotonic milliseconds. */
#pragma once

#include "dns/message.h"

#define DNS_CACHE_MAX 4096

struct dns_cache;

struct dns_cache *dns_cache_new(void);
void dns_cache_free(struct dns_cache *cache); /* NULL is allowed */

/* The answer, or NULL. *left_ms: how long it holds. Borrowed until the next call. */
const struct dns_result *dns_cache_get(struct dns_cache *cache, const char *name, uint16_t type,
                                       int64_t now_ms, int64_t *left_ms);

/* Keep an answer so long; takes the contents of result. */
void dns_cache_put(struct dns_cache *cache, const char *name, uint16_t type,
                   struct dns_result *result, int64_t now_ms, int64_t keep_ms);
