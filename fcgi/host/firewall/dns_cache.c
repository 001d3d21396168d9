/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/dns_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"

#define BUCKETS 1024

struct entry {
    char *name;
    uint16_t type;
    int64_t expires_at_ms;
    struct dns_result result;
    struct entry *next;          /* in the bucket */
    struct entry *newer, *older; /* in the order of use */
};

struct dns_cache {
    struct entry *buckets[BUCKETS];
    struct entry *newest, *oldest;
    size_t count;
    uint32_t seed; /* sandboxes choose names, and must not be able to choose buckets */
};

struct dns_cache *dns_cache_new(void)
{
    struct dns_cache *cache = xcalloc(1, sizeof *cache);
    if (getrandom(&cache->seed, sizeof cache->seed, 0) < 0)
        cache->seed = 0;
    return cache;
}

/* Hash by FNV-1a with a seed. */
static struct entry **bucket_of(struct dns_cache *cache, const char *name, uint16_t type)
{
    uint32_t hash = 2166136261u ^ cache->seed ^ type;
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    return &cache->buckets[(hash ^ hash >> 16) % BUCKETS];
}

static void unlink_use(struct dns_cache *cache, struct entry *entry)
{
    *(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void link_newest(struct dns_cache *cache, struct entry *entry)
{
    entry->newer = NULL;
    entry->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
    cache->newest = entry;
}

static void drop(struct dns_cache *cache, struct entry *entry)
{
    struct entry **link = bucket_of(cache, entry->name, entry->type);
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    unlink_use(cache, entry);
    dns_result_deinit(&entry->result);
    free(entry->name);
    free(entry);
    cache->count--;
}

void dns_cache_free(struct dns_cache *cache)
{
    while (cache && cache->oldest)
        drop(cache, cache->oldest);
    free(cache);
}

static struct entry *find(struct dns_cache *cache, const char *name, uint16_t type)
{
    struct entry *entry = *bucket_of(cache, name, type);
    while (entry && (entry->type != type || strcmp(entry->name, name) != 0))
        entry = entry->next;
    return entry;
}

const struct dns_result *dns_cache_get(struct dns_cache *cache, const char *name, uint16_t type,
                                       int64_t now_ms, int64_t *left_ms)
{
    struct entry *entry = find(cache, name, type);
    if (!entry)
        return NULL;
    if (entry->expires_at_ms <= now_ms) {
        drop(cache, entry);
        return NULL;
    }
    unlink_use(cache, entry);
    link_newest(cache, entry);
    *left_ms = entry->expires_at_ms - now_ms;
    return &entry->result;
}

void dns_cache_put(struct dns_cache *cache, const char *name, uint16_t type,
                   struct dns_result *result, int64_t now_ms, int64_t keep_ms)
{
    struct entry *entry = find(cache, name, type);
    if (entry)
        drop(cache, entry);
    if (dns_result_memory(result) > DNS_CACHE_ANSWER_MAX)
        return;
    if (cache->count == DNS_CACHE_MAX)
        drop(cache, cache->oldest);
    struct entry **bucket = bucket_of(cache, name, type);
    entry = xcalloc(1, sizeof *entry);
    *entry = (struct entry){.name = xstrdup(name),
                            .type = type,
                            .expires_at_ms = now_ms + keep_ms,
                            .result = *result,
                            .next = *bucket};
    *result = (struct dns_result){0};
    *bucket = entry;
    link_newest(cache, entry);
    cache->count++;
}
