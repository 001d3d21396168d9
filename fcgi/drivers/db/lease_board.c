/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/lease_board.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#define SLOTS_MAX 64

struct slot {
    _Atomic uint32_t group;
    _Atomic uint64_t team; /* 0: no row in hand */
};

static struct board {
    _Atomic uint32_t joined;
    struct slot slots[SLOTS_MAX];
} * board;

static struct slot *own; /* NULL: this process has no bound */
static unsigned own_most;

int lease_board_open(void)
{
    void *memory =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    board = memory;
    return 0;
}

void lease_board_join(unsigned group, unsigned most)
{
    uint32_t place = board ? atomic_fetch_add(&board->joined, 1) : SLOTS_MAX;
    if (place >= SLOTS_MAX)
        return;
    own = &board->slots[place];
    own_most = most;
    atomic_store(&own->group, group + 1); /* 0 is a free slot */
}

bool lease_board_enter(uint64_t team)
{
    unsigned others = 0;
    if (!own)
        return true;
    /* Writing before counting: of two processes that enter at once at least one sees the other. */
    atomic_store(&own->team, team);
    for (struct slot *slot = board->slots; slot < board->slots + SLOTS_MAX; slot++)
        others += slot != own && atomic_load(&slot->group) == atomic_load(&own->group) &&
                  atomic_load(&slot->team) == team;
    if (others < own_most)
        return true;
    atomic_store(&own->team, 0);
    return false;
}

void lease_board_leave(void)
{
    if (own)
        atomic_store(&own->team, 0);
}
