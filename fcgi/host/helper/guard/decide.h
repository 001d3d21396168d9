/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calculate the decisions of the pool guard from numbers alone. All numbers but percent are
 * bytes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define GUARD_MIB (UINT64_C(1) << 20)

struct guard_room {
    uint64_t total, free; /* size of the pool, and its free space */
    uint64_t reserve;     /* kept for the host */
    uint64_t room;        /* that guests may still take */
};

/* Calculate the room. percent: the host's part of the pool. The part is at least 1 GiB, and at most
 * a quarter of the pool. */
struct guard_room guard_room_of(uint64_t total, uint64_t free, unsigned percent);

/* Return whether the guests' part is full. Within a second, a guest can pass this mark by at most
 * the room that the last limit left. */
bool guard_is_full(const struct guard_room *room);
/* Return whether a full pool has room again. This mark is higher than that of guard_is_full(), so
 * the state does not flap. */
bool guard_has_room_again(const struct guard_room *room);

/* Calculate the limit of all guests. used: the bytes that they hold; now: the present limit, 0: no
 * limit. Returns whether to set *wanted. Each change is a write to the disk, so small changes wait
 * until the room is small too. */
bool guard_limit_changes(const struct guard_room *room, uint64_t used, uint64_t now,
                         uint64_t *wanted);

/* Return the limit of a small subvolume outside the guests' part: `own` bytes more than it holds,
 * and at least the guarantee. */
uint64_t guard_lean_limit(uint64_t used, uint64_t own, uint64_t guarantee);
/* Return the limit of the other guests after a subvolume that holds `used` bytes has left the
 * group. They must not fill the space that it holds a second time. */
uint64_t guard_others_limit(uint64_t others, uint64_t used);
