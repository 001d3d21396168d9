/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the pool guard decides from numbers alone; all of them are bytes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define GUARD_MIB (UINT64_C(1) << 20)

struct guard_room {
    uint64_t total, free; /* of the pool */
    uint64_t reserve;     /* kept for the host */
    uint64_t room;        /* what guests may still take */
};

/* percent: the host's part of the pool, at least 1 GiB and at most a quarter of it. */
struct guard_room guard_room_of(uint64_t total, uint64_t free, unsigned percent);

/* Whether the guests' part is full: what one of them writes within a second passes it by at most
 * what the last limit left them. */
bool guard_is_full(const struct guard_room *room);
/* Whether one that was full has room again: later than the moment when it was not full any more. */
bool guard_has_room_again(const struct guard_room *room);

/* The limit of all guests, who hold `used` bytes and have the limit `now` (0: none). Returns
 * whether to set it: each change is written to the disk, so small ones wait until the room is small
 * too. */
bool guard_limit_changes(const struct guard_room *room, uint64_t used, uint64_t now,
                         uint64_t *wanted);

/* The limit of a small subvolume outside the guests' part: `own` more than it holds, at least the
 * guarantee. */
uint64_t guard_lean_limit(uint64_t used, uint64_t own, uint64_t guarantee);
/* The limit of the other guests when it leaves: they must not write again what it holds. */
uint64_t guard_others_limit(uint64_t others, uint64_t used);
