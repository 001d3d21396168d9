/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/ways.h"

static bool is_same(const struct way *way, const struct way *asked)
{
    return way->used_at_ms && way->sandbox == asked->sandbox && way->rules == asked->rules &&
           way->rule == asked->rule;
}

static bool is_free(struct ways *ways, int number, int64_t now_ms)
{
    int64_t used_at_ms = ways->all[number].used_at_ms;
    return !atomic_load(&ways->connections[number]) &&
           (!used_at_ms || now_ms - used_at_ms > WAY_REST_MS);
}

int ways_take(struct ways *ways, const struct way *asked, int64_t now_ms)
{
    int place = -1;
    unsigned of_team = 0, of_user = 0;
    for (int i = 0; i < EGRESS_WAYS_MAX; i++) {
        struct way *way = &ways->all[i];
        if (is_same(way, asked)) {
            way->used_at_ms = now_ms;
            return i;
        }
        if (is_free(ways, i, now_ms)) {
            place = place < 0 ? i : place;
            continue;
        }
        of_team += way->tenant == asked->tenant;
        of_user += way->user == asked->user;
    }
    if (place < 0 || of_team >= EGRESS_WAYS_TEAM_MAX || of_user >= EGRESS_WAYS_TEAM_MAX)
        return -1;
    ways->all[place] = *asked;
    ways->all[place].used_at_ms = now_ms;
    return place;
}
