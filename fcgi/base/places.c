/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/places.h"

#include <assert.h>

bool places_has_room(const struct places *places, const struct tenant *tenant)
{
    unsigned of_team = 0, of_user = 0;
    assert(places->most <= PLACES_MAX);
    for (unsigned i = 0; i < places->count; i++) {
        const struct tenant *other = &places->taken[i].tenant;
        of_team += other->team == tenant->team;
        of_user += tenant->user && other->user == tenant->user;
    }
    return places->count < places->most && of_team < places->most_of_tenant &&
           of_user < places->most_of_tenant;
}

bool places_take(struct places *places, const struct tenant *tenant, uint64_t key)
{
    if (!places_has_room(places, tenant))
        return false;
    places->taken[places->count++] = (struct place){*tenant, key};
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
