/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Count the places of a program that serves all tenants of a host; each tenant can have a part
 * only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PLACES_MAX 256

struct places {
    unsigned most, most_of_tenant; /* at most PLACES_MAX */
    unsigned count;
    struct place {
        uint64_t tenant; /* 0: not known; all unknown tenants count as one */
        uint64_t key;
    } taken[PLACES_MAX];
};

/* Take a place under a key that no other place has. Returns false when all places are taken, or all
 * that this tenant can have. */
bool places_take(struct places *places, uint64_t tenant, uint64_t key);
/* Return whether this tenant can take a place. */
bool places_has_room(const struct places *places, uint64_t tenant);
/* Free the place of this key. An unknown key is ignored. */
void places_leave(struct places *places, uint64_t key);
