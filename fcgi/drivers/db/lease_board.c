/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/lease_board.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#define SLOTS_MAX 64

struct slot {
    _Atomic uint32_t group;
    _Atomic uint64_t team; /* 0: no row in hand */
    _Atomic uint64_t user; /* 0: none */
};

static struct board {
    _Atomic uint32_t joined;
    struct slot slots[SLOTS_MAX];
} * board;

static struct slot *own; /* NULL: this process has no bound */
static unsigned own_processes, own_most;

int lease_board_open(void)
{
    void *memory =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    board = memory;
    return 0;
}

void lease_board_join(unsigned group, unsigned processes, unsigned most)
{
    uint32_t place = board ? atomic_fetch_add(&board->joined, 1) : SLOTS_MAX;
    if (place >= SLOTS_MAX)
        return;
    own = &board->slots[place];
    own_processes = processes;
    own_most = most;
    atomic_store(&own->group, group + 1); /* 0 is a free slot */
}

bool lease_board_enter(uint64_t team, uint64_t user)
{
    unsigned busy = 0, same = 0;
    if (!own)
        return true;
    /* Writing before counting: of two processes that enter at once at least one sees the other. */
    atomic_store(&own->user, user);
    atomic_store(&own->team, team);
    for (struct slot *slot = board->slots; slot < board->slots + SLOTS_MAX; slot++) {
        uint64_t other = atomic_load(&slot->team);
        if (slot == own || !other || atomic_load(&slot->group) != atomic_load(&own->group))
            continue;
        busy++;
        same += other == team || (user && atomic_load(&slot->user) == user);
    }
    if (!same || (same < own_most && busy + 1 < own_processes))
        return true;
    atomic_store(&own->team, 0);
    return false;
}

void lease_board_leave(void)
{
    if (own)
        atomic_store(&own->team, 0);
}
