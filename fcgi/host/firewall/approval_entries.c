/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/approval_entries.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

void approval_entries_deinit(struct approval_entries *asks)
{
    for (size_t i = 0; i < APPROVAL_ENTRIES_MAX; i++)
        free(asks->items[i].entry);
    *asks = (struct approval_entries){0};
}

void approval_entries_add(struct approval_entries *asks, const char *entry, int64_t now_ms)
{
    struct approval_entry *place = &asks->items[0];
    for (size_t i = 0; i < APPROVAL_ENTRIES_MAX; i++) {
        struct approval_entry *ask = &asks->items[i];
        if (str_equal(ask->entry, entry)) {
            ask->at_ms = now_ms;
            return;
        }
        if (place->entry && (!ask->entry || ask->at_ms < place->at_ms))
            place = ask;
    }
    free(place->entry);
    *place = (struct approval_entry){now_ms, xstrdup(entry)};
}

static bool is_recent(const struct approval_entry *ask, int64_t now_ms)
{
    return ask->entry && now_ms - ask->at_ms < APPROVAL_ENTRIES_RECENT_MS;
}

json_t *approval_entries_json(const struct approval_entries *asks, size_t most, int64_t now_ms)
{
    json_t *list = NULL;
    for (size_t i = 0; i < APPROVAL_ENTRIES_MAX && json_array_size(list) < most; i++) {
        if (!is_recent(&asks->items[i], now_ms))
            continue;
        if (!list)
            list = json_array();
        json_array_append_new(list, json_string(asks->items[i].entry));
    }
    return list;
}
