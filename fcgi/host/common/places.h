/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places of a program that serves all tenants of a host, of which one tenant has a part only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PLACES_MAX 256

struct places {
    unsigned most, most_of_tenant; /* at most PLACES_MAX */
    unsigned count;
    struct place {
        uint64_t tenant; /* 0: not known, and one tenant more */
        uint64_t key;
    } taken[PLACES_MAX];
};

/* Take a place under a key that no other place has. False: all are taken, or all of this tenant. */
bool places_take(struct places *places, uint64_t tenant, uint64_t key);
/* Whether there is a place for this tenant. */
bool places_has_room(const struct places *places, uint64_t tenant);
/* Leave the place of this key; without one nothing is done. */
void places_leave(struct places *places, uint64_t key);
