/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/places.h"

#include <assert.h>

bool places_has_room(const struct places *places, const struct tenant *tenant)
{
    unsigned of_team = 0, of_user = 0, most = places->most_of_tenant;
    assert(places->most <= PLACES_MAX);
    if (places->count >= places->most)
        return false;
    if (places->most_when_busy && places->count >= places->most / 2)
        most = places->most_when_busy;
    for (unsigned i = 0; i < places->count; i++) {
        const struct tenant *other = &places->taken[i].tenant;
        of_team += other->team == tenant->team;
        of_user += tenant->user && other->user == tenant->user;
    }
    return of_team < most && of_user < most;
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
