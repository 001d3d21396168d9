/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/denials.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static bool is_same(const struct denial *item, const struct denial *wanted)
{
    if (item->kind != wanted->kind || item->protocol != wanted->protocol)
        return false;
    return item->kind == DENIAL_LIMIT ||
           (item->port == wanted->port && !strcmp(item->target, wanted->target));
}

static struct denial *find_or_make(struct denials *denials, const struct denial *wanted)
{
    struct denial *oldest = denials->items;
    for (size_t i = 0; i < denials->count; i++) {
        struct denial *item = &denials->items[i];
        if (is_same(item, wanted))
            return item;
        if (item->at_ms < oldest->at_ms)
            oldest = item;
    }
    if (denials->count < DENIALS_MAX)
        oldest = &denials->items[denials->count++];
    *oldest = *wanted;
    return oldest;
}

void denials_add(struct denials *denials, enum denial_kind kind, const char *target, uint16_t port,
                 const char *protocol, int64_t now_ms)
{
    struct denial wanted = {.kind = kind, .port = port, .protocol = protocol};
    snprintf(wanted.target, sizeof wanted.target, "%s", target);
    struct denial *denial = find_or_make(denials, &wanted);
    memcpy(denial->target, wanted.target, sizeof denial->target);
    denial->port = port;
    denial->at_ms = now_ms;
    denial->count++;
    denials->total++;
}

static int newest_first(const void *a, const void *b)
{
    int64_t left = (*(const struct denial *const *)a)->at_ms;
    int64_t right = (*(const struct denial *const *)b)->at_ms;
    return left > right ? -1 : left < right;
}

static const char *kind_name(enum denial_kind kind)
{
    static const char *const names[] = {"connection", "name", "limit", "proxy"};
    return names[kind];
}

json_t *denials_json(const struct denials *denials)
{
    const struct denial *sorted[DENIALS_MAX];
    json_t *list = json_array();
    for (size_t i = 0; i < denials->count; i++)
        sorted[i] = &denials->items[i];
    if (denials->count)
        qsort(sorted, denials->count, sizeof *sorted, newest_first);
    for (size_t i = 0; i < denials->count; i++) {
        char at[CLOCK_ISO8601_SIZE];
        json_t *port = sorted[i]->port ? json_integer(sorted[i]->port) : json_null();
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:o, s:s?, s:I}", "at",
                                        clock_format_iso8601(sorted[i]->at_ms, at), "kind",
                                        kind_name(sorted[i]->kind), "target", sorted[i]->target,
                                        "port", port, "protocol", sorted[i]->protocol, "count",
                                        (json_int_t)sorted[i]->count));
    }
    return list;
}
