/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct watch *watch_use(struct watch_list *list, const char *name)
{
    for (struct watch *watch = list->first; watch; watch = watch->next)
        if (!strcmp(watch->name, name)) {
            watch->users++;
            return watch;
        }
    if (list->count == WATCHES_MAX)
        return NULL;
    struct watch *watch = xcalloc(1, sizeof *watch);
    watch->name = xstrdup(name);
    watch->users = 1;
    watch->next = list->first;
    list->first = watch;
    list->count++;
    return watch;
}

void watch_release(struct watch_list *list, struct watch *watch)
{
    if (--watch->users)
        return;
    struct watch **link = &list->first;
    while (*link != watch)
        link = &(*link)->next;
    *link = watch->next;
    list->count--;
    free(watch->name);
    free(watch);
}

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

struct watch *watch_due(struct watch_list *list, int64_t now_ms)
{
    for (struct watch *watch = list->first; watch; watch = watch->next)
        if (!watch->asked && watch->due_at_ms <= now_ms)
            return watch;
    return NULL;
}
