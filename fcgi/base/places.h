/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Count the places of a program that serves many tenants. Each team can have a part only, and each
 * user as much in all teams together. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/tenant.h"

#define PLACES_MAX 256

struct places {
    unsigned most,
        most_of_tenant; /* at most PLACES_MAX; most_of_tenant: of a team, and of a user */
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
