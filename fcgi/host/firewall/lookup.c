/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/lookup.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* --- the list --- */

/* Hash by FNV-1a. */
static struct lookup *const *bucket_of(const struct lookup_list *list, const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return &list->buckets[hash % LOOKUP_BUCKETS];
}

struct lookup *lookup_find(const struct lookup_list *list, const char *name)
{
    struct lookup *lookup = *bucket_of(list, name);
    while (lookup && strcmp(lookup->name, name) != 0)
        lookup = lookup->next;
    return lookup;
}

/* Add a lookup at the place where the next check starts. */
static void ring_add(struct lookup_list *list, struct lookup *lookup)
{
    struct lookup *next = list->at ? list->at : lookup;
    lookup->ring_next = next;
    lookup->ring_previous = list->at ? next->ring_previous : lookup;
    lookup->ring_previous->ring_next = lookup;
    next->ring_previous = lookup;
    list->at = lookup;
}

static void ring_remove(struct lookup_list *list, struct lookup *lookup)
{
    lookup->ring_previous->ring_next = lookup->ring_next;
    lookup->ring_next->ring_previous = lookup->ring_previous;
    if (list->at == lookup)
        list->at = lookup->ring_next == lookup ? NULL : lookup->ring_next;
}

struct lookup *lookup_use(struct lookup_list *list, const char *name)
{
    struct lookup *lookup = lookup_find(list, name);
    if (lookup) {
        lookup->users++;
        return lookup;
    }
    if (list->count == LOOKUPS_MAX)
        return NULL;
    struct lookup **bucket = (struct lookup **)bucket_of(list, name);
    lookup = xcalloc(1, sizeof *lookup);
    lookup->name = xstrdup(name);
    lookup->users = 1;
    lookup->next = *bucket;
    *bucket = lookup;
    ring_add(list, lookup);
    list->count++;
    return lookup;
}

void lookup_release(struct lookup_list *list, struct lookup *lookup)
{
    if (--lookup->users)
        return;
    struct lookup **link = (struct lookup **)bucket_of(list, lookup->name);
    while (*link != lookup)
        link = &(*link)->next;
    *link = lookup->next;
    ring_remove(list, lookup);
    list->count--;
    free(lookup->name);
    free(lookup);
}

struct lookup *lookup_due(struct lookup_list *list, int64_t now_ms, unsigned *looks)
{
    while (list->at && *looks) {
        struct lookup *lookup = list->at;
        struct rate *rate = lookup->answered ? &list->known : &list->fresh;
        list->at = lookup->ring_next;
        (*looks)--;
        if (!lookup->asked && lookup->due_at_ms <= now_ms &&
            rate_take(rate, LOOKUP_BURST, LOOKUP_PER_S, now_ms))
            return lookup;
    }
    return NULL;
}

/* --- addresses --- */

bool lookup_has(const struct lookup *lookup, uint32_t address)
{
    for (size_t i = 0; i < lookup->count; i++)
        if (lookup->addresses[i].address == address)
            return true;
    return false;
}

void lookup_failed(struct lookup *lookup, uint32_t address, int64_t now_ms)
{
    for (size_t i = 0; i < lookup->count; i++)
        if (lookup->addresses[i].address == address)
            lookup->addresses[i].failed_at_ms = now_ms;
}

static bool forget_old(struct lookup *lookup, int64_t now_ms)
{
    size_t kept = 0, before = lookup->count;
    for (size_t i = 0; i < lookup->count; i++)
        if (now_ms - lookup->addresses[i].seen_at_ms < LOOKUP_KEEP_MS)
            lookup->addresses[kept++] = lookup->addresses[i];
    lookup->count = kept;
    return kept != before;
}

static bool see(struct lookup *lookup, uint32_t address, int64_t now_ms)
{
    struct lookup_address *oldest = lookup->addresses;
    for (size_t i = 0; i < lookup->count; i++) {
        if (lookup->addresses[i].address == address) {
            lookup->addresses[i].seen_at_ms = now_ms;
            return false;
        }
        if (lookup->addresses[i].seen_at_ms < oldest->seen_at_ms)
            oldest = &lookup->addresses[i];
    }
    if (lookup->count < LOOKUP_ADDRESSES_MAX)
        oldest = &lookup->addresses[lookup->count++];
    *oldest = (struct lookup_address){address, now_ms, 0};
    return true;
}

bool lookup_answered(struct lookup *lookup, const uint32_t *addresses, size_t count, int64_t now_ms,
                     int64_t again_ms)
{
    /* A failing upstream must not open a denied name. */
    bool changed = count && forget_old(lookup, now_ms);
    for (size_t i = 0; i < count; i++)
        changed |= see(lookup, addresses[i], now_ms);
    lookup->asked = false;
    lookup->answered = true;
    lookup->due_at_ms = now_ms + again_ms;
    return changed;
}
