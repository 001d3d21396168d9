/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/guard/decide.h"

#define RESERVE_LEAST (UINT64_C(1024) * GUARD_MIB)

static uint64_t at_least(uint64_t value, uint64_t least)
{
    return value < least ? least : value;
}

struct guard_room guard_room_of(uint64_t total, uint64_t free, unsigned percent)
{
    struct guard_room room = {.total = total, .free = free};
    room.reserve = at_least(total / 100 * percent + total % 100 * percent / 100, RESERVE_LEAST);
    /* In a very small pool, the guests must have the larger part. */
    if (room.reserve > total / 4)
        room.reserve = total / 4;
    room.room = free > room.reserve ? free - room.reserve : 0;
    return room;
}

bool guard_is_full(const struct guard_room *room)
{
    return room->room < room->reserve / 4;
}

bool guard_has_room_again(const struct guard_room *room)
{
    return room->room > room->reserve / 2;
}

bool guard_limit_changes(const struct guard_room *room, uint64_t used, uint64_t now,
                         uint64_t *wanted)
{
    *wanted = at_least(used + room->room, GUARD_MIB); /* 0 would mean no limit */
    uint64_t change = *wanted > now ? *wanted - now : now - *wanted;
    return now == 0 || change > room->room / 16 + 16 * GUARD_MIB ||
           (room->room == 0 && *wanted < now);
}

uint64_t guard_lean_limit(uint64_t used, uint64_t own, uint64_t guarantee)
{
    return at_least(used + own, guarantee);
}

uint64_t guard_others_limit(uint64_t others, uint64_t used)
{
    return others > used + GUARD_MIB ? others - used : GUARD_MIB;
}
