/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/asks.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

void asks_deinit(struct asks *asks)
{
    for (size_t i = 0; i < ASKS_MAX; i++)
        free(asks->items[i].entry);
    *asks = (struct asks){0};
}

void asks_add(struct asks *asks, const char *entry, int64_t now_ms)
{
    struct ask *place = &asks->items[0];
    for (size_t i = 0; i < ASKS_MAX; i++) {
        struct ask *ask = &asks->items[i];
        if (str_equal(ask->entry, entry)) {
            ask->at_ms = now_ms;
            return;
        }
        if (place->entry && (!ask->entry || ask->at_ms < place->at_ms))
            place = ask;
    }
    free(place->entry);
    *place = (struct ask){now_ms, xstrdup(entry)};
}

static bool is_recent(const struct ask *ask, int64_t now_ms)
{
    return ask->entry && now_ms - ask->at_ms < ASKS_RECENT_MS;
}

json_t *asks_json(const struct asks *asks, size_t most, int64_t now_ms)
{
    json_t *list = NULL;
    for (size_t i = 0; i < ASKS_MAX && json_array_size(list) < most; i++) {
        if (!is_recent(&asks->items[i], now_ms))
            continue;
        if (!list)
            list = json_array();
        json_array_append_new(list, json_string(asks->items[i].entry));
    }
    return list;
}
