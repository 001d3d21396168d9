/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Count the places of a program that serves many tenants. Each team can have a part only, and each
 * user as much in all teams together. While half of the places are taken, a tenant can have a
 * smaller part: then a few tenants cannot take all places. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/tenant.h"

#define PLACES_MAX 2048

struct places {
    unsigned most;           /* at most PLACES_MAX */
    unsigned most_of_tenant; /* of a team, and of a user */
    unsigned most_when_busy; /* the same, while half of all are taken; 0: most_of_tenant */
    unsigned count;
    struct place {
        struct tenant tenant;
        uint64_t key;
    } taken[PLACES_MAX];
};

/* Take a place under a key that no other place has. Returns false when all places are taken, or all
 * that this team or this user can have. */
bool places_take(struct places *places, const struct tenant *tenant, uint64_t key);
/* Return whether this tenant can take a place. */
bool places_has_room(const struct places *places, const struct tenant *tenant);
/* Free the place of this key. An unknown key is ignored. */
void places_leave(struct places *places, uint64_t key);
