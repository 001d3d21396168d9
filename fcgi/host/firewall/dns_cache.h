/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cache answers of the upstreams for their time to live. A full cache drops the least recently used
 * answer. A sandbox can ask for names of its owner. Their answers can have 64 KiB of text and take
 * megabytes of memory, so large answers are not kept. Times are monotonic milliseconds. */
#pragma once

#include "dns/message.h"

#define DNS_CACHE_MAX        4096
#define DNS_CACHE_ANSWER_MAX 16384 /* bytes of memory of an answer that is kept */

struct dns_cache;

struct dns_cache *dns_cache_new(void);
void dns_cache_free(struct dns_cache *cache); /* NULL is allowed */

/* Return an answer, or NULL; borrowed until the next call. *left_ms: the rest of its time to
 * live. */
const struct dns_result *dns_cache_get(struct dns_cache *cache, const char *name, uint16_t type,
                                       int64_t now_ms, int64_t *left_ms);

/* Store an answer for keep_ms, and take the contents of result, unless it is too large. */
void dns_cache_put(struct dns_cache *cache, const char *name, uint16_t type,
                   struct dns_result *result, int64_t now_ms, int64_t keep_ms);
