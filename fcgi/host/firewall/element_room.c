/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/element_room.h"

static bool is_of_tenant(const struct filter_sandbox *sandbox, const struct policy_wire *wire)
{
    return sandbox->wire.tenant == wire->tenant || (wire->user && sandbox->wire.user == wire->user);
}

/* Return half of the room that the others leave, without what the tenant has. */
static size_t free_room(const struct filter *filter, const struct filter_sandbox *except,
                        const struct policy_wire *wire)
{
    size_t own = 0, others = 0;
    for (size_t i = 0; i < FILTER_BUCKETS; i++)
        for (const struct filter_sandbox *one = filter->buckets[i]; one; one = one->next)
            if (one != except)
                *(is_of_tenant(one, wire) ? &own : &others) += one->element_count;
    size_t most = others < ELEMENTS_ALL ? (ELEMENTS_ALL - others) / 2 : 0;
    return most > own ? most - own : 0;
}

size_t element_room(const struct filter *filter, const struct filter_sandbox *sandbox,
                    const struct policy_wire *wire)
{
    /* Then even half of the room has place for it. */
    if (filter->element_count <= ELEMENTS_ALL / 2 - ELEMENTS_MAX)
        return ELEMENTS_MAX;
    size_t room = free_room(filter, sandbox, wire);
    if (room < sandbox->element_count)
        room = sandbox->element_count;
    return room < ELEMENTS_MAX ? room : ELEMENTS_MAX;
}
