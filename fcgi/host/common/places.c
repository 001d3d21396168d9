/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/places.h"

#include <assert.h>

bool places_has_room(const struct places *places, uint64_t tenant)
{
    unsigned of_tenant = 0;
    assert(places->most <= PLACES_MAX);
    for (unsigned i = 0; i < places->count; i++)
        of_tenant += places->taken[i].tenant == tenant;
    return places->count < places->most && of_tenant < places->most_of_tenant;
}

bool places_take(struct places *places, uint64_t tenant, uint64_t key)
{
    if (!places_has_room(places, tenant))
        return false;
    places->taken[places->count++] = (struct place){tenant, key};
    return true;
}

void places_leave(struct places *places, uint64_t key)
{
    for (unsigned i = 0; i < places->count; i++)
        if (places->taken[i].key == key) {
            places->taken[i] = places->taken[--places->count];
            return;
        }
}
