/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/ways.h"

static bool is_same(const struct way *way, const struct way *asked)
{
    return way->used_at_ms && way->sandbox == asked->sandbox && way->rules == asked->rules &&
           way->rule == asked->rule;
}

/* The ways of one kind. */
struct kind {
    int first, end;
    unsigned most; /* of one team, and of one user */
    bool shared;   /* the requests of a rule share one */
};
static const struct kind kept = {0, EGRESS_WAYS_KEPT, EGRESS_WAYS_KEPT_TEAM_MAX, true};
static const struct kind once = {EGRESS_WAYS_KEPT, EGRESS_WAYS_MAX, EGRESS_WAYS_ONCE_TEAM_MAX,
                                 false};

/* ways_ended() notes the end before it subtracts the connection, so the connections are read
 * first. */
static bool is_free(struct ways *ways, int number, int64_t now_ms, const struct kind *kind)
{
    int64_t used_at_ms = ways->all[number].used_at_ms;
    if (kind->shared && atomic_load(&ways->connections[number]))
        return false;
    return !used_at_ms || (now_ms - used_at_ms > WAY_REST_MS &&
                           now_ms - atomic_load(&ways->ended_at_ms[number]) > WAY_REST_MS);
}

static int take(struct ways *ways, const struct kind *kind, const struct way *asked, int64_t now_ms)
{
    int place = -1;
    unsigned of_team = 0, of_user = 0;
    for (int i = kind->first; i < kind->end; i++) {
        struct way *way = &ways->all[i];
        if (kind->shared && is_same(way, asked)) {
            way->used_at_ms = now_ms;
            return i;
        }
        if (is_free(ways, i, now_ms, kind)) {
            place = place < 0 ? i : place;
            continue;
        }
        of_team += way->tenant == asked->tenant;
        of_user += way->user == asked->user;
    }
    if (place < 0 || of_team >= kind->most || of_user >= kind->most)
        return -1;
    ways->all[place] = *asked;
    ways->all[place].used_at_ms = now_ms;
    return place;
}

int ways_take(struct ways *ways, const struct way *asked, int64_t now_ms)
{
    int number = take(ways, &kept, asked, now_ms);
    return number >= 0 ? number : take(ways, &once, asked, now_ms);
}

void ways_ended(struct ways *ways, int number, int64_t now_ms)
{
    atomic_store(&ways->ended_at_ms[number], now_ms);
    atomic_fetch_sub(&ways->connections[number], 1);
}

void ways_connected(struct ways *ways, int number)
{
    if (number >= once.first)
        ways->all[number] = (struct way){0};
}
