/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* --- the list --- */

/* FNV-1a. */
static struct watch *const *bucket_of(const struct watch_list *list, const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return &list->buckets[hash % WATCH_BUCKETS];
}

struct watch *watch_find(const struct watch_list *list, const char *name)
{
    struct watch *watch = *bucket_of(list, name);
    while (watch && strcmp(watch->name, name) != 0)
        watch = watch->next;
    return watch;
}

/* Where the next look begins. */
static void ring_add(struct watch_list *list, struct watch *watch)
{
    struct watch *next = list->at ? list->at : watch;
    watch->ring_next = next;
    watch->ring_previous = list->at ? next->ring_previous : watch;
    watch->ring_previous->ring_next = watch;
    next->ring_previous = watch;
    list->at = watch;
}

static void ring_remove(struct watch_list *list, struct watch *watch)
{
    watch->ring_previous->ring_next = watch->ring_next;
    watch->ring_next->ring_previous = watch->ring_previous;
    if (list->at == watch)
        list->at = watch->ring_next == watch ? NULL : watch->ring_next;
}

struct watch *watch_use(struct watch_list *list, const char *name)
{
    struct watch *watch = watch_find(list, name);
    if (watch) {
        watch->users++;
        return watch;
    }
    if (list->count == WATCHES_MAX)
        return NULL;
    struct watch **bucket = (struct watch **)bucket_of(list, name);
    watch = xcalloc(1, sizeof *watch);
    watch->name = xstrdup(name);
    watch->users = 1;
    watch->next = *bucket;
    *bucket = watch;
    ring_add(list, watch);
    list->count++;
    return watch;
}

void watch_release(struct watch_list *list, struct watch *watch)
{
    if (--watch->users)
        return;
    struct watch **link = (struct watch **)bucket_of(list, watch->name);
    while (*link != watch)
        link = &(*link)->next;
    *link = watch->next;
    ring_remove(list, watch);
    list->count--;
    free(watch->name);
    free(watch);
}

struct watch *watch_due(struct watch_list *list, int64_t now_ms, unsigned *looks)
{
    while (list->at && *looks) {
        struct watch *watch = list->at;
        struct rate *rate = watch->answered ? &list->known : &list->fresh;
        list->at = watch->ring_next;
        (*looks)--;
        if (!watch->asked && watch->due_at_ms <= now_ms &&
            rate_take(rate, WATCH_BURST, WATCH_PER_S, now_ms))
            return watch;
    }
    return NULL;
}

/* --- addresses --- */

bool watch_has(const struct watch *watch, uint32_t address)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->addresses[i].address == address)
            return true;
    return false;
}

static bool forget_old(struct watch *watch, int64_t now_ms)
{
    size_t kept = 0, before = watch->count;
    for (size_t i = 0; i < watch->count; i++)
        if (now_ms - watch->addresses[i].seen_at_ms < WATCH_KEEP_MS)
            watch->addresses[kept++] = watch->addresses[i];
    watch->count = kept;
    return kept != before;
}

static bool see(struct watch *watch, uint32_t address, int64_t now_ms)
{
    struct watch_address *oldest = watch->addresses;
    for (size_t i = 0; i < watch->count; i++) {
        if (watch->addresses[i].address == address) {
            watch->addresses[i].seen_at_ms = now_ms;
            return false;
        }
        if (watch->addresses[i].seen_at_ms < oldest->seen_at_ms)
            oldest = &watch->addresses[i];
    }
    if (watch->count < WATCH_ADDRESSES_MAX)
        oldest = &watch->addresses[watch->count++];
    *oldest = (struct watch_address){address, now_ms};
    return true;
}

bool watch_answered(struct watch *watch, const uint32_t *addresses, size_t count, int64_t now_ms,
                    int64_t again_ms)
{
    /* An upstream that fails must not open what is denied. */
    bool changed = count && forget_old(watch, now_ms);
    for (size_t i = 0; i < count; i++)
        changed |= see(watch, addresses[i], now_ms);
    watch->asked = false;
    watch->answered = true;
    watch->due_at_ms = now_ms + again_ms;
    return changed;
}
