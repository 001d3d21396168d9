/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/element_room.h"

static bool is_of_tenant(const struct filter_sandbox *sandbox, const struct policy_wire *wire)
{
    return sandbox->wire.tenant == wire->tenant || (wire->user && sandbox->wire.user == wire->user);
}

static size_t elements_of(const struct filter_sandbox *sandbox)
{
    return sandbox->element_count;
}

static size_t bytes_of(const struct filter_sandbox *sandbox)
{
    return sandbox->wire.bytes;
}

/* Return half of the room that the others leave, without the part that the tenant has. */
static size_t free_room(const struct filter *filter, const struct filter_sandbox *except,
                        const struct policy_wire *wire, size_t all,
                        size_t (*use_of)(const struct filter_sandbox *sandbox))
{
    size_t own = 0, others = 0;
    for (size_t i = 0; i < FILTER_BUCKETS; i++)
        for (const struct filter_sandbox *one = filter->buckets[i]; one; one = one->next)
            if (one != except)
                *(is_of_tenant(one, wire) ? &own : &others) += use_of(one);
    size_t most = others < all ? (all - others) / 2 : 0;
    return most > own ? most - own : 0;
}

size_t element_room(const struct filter *filter, const struct filter_sandbox *sandbox,
                    const struct policy_wire *wire)
{
    /* Then even half of the room has place for it. */
    if (filter->element_count <= ELEMENTS_ALL / 2 - ELEMENTS_MAX)
        return ELEMENTS_MAX;
    size_t room = free_room(filter, sandbox, wire, ELEMENTS_ALL, elements_of);
    if (room < sandbox->element_count)
        room = sandbox->element_count;
    return room < ELEMENTS_MAX ? room : ELEMENTS_MAX;
}

bool policy_fits(const struct filter *filter, const struct filter_sandbox *sandbox,
                 const struct policy_wire *wire)
{
    return (sandbox && wire->bytes <= sandbox->wire.bytes) ||
           wire->bytes <= free_room(filter, sandbox, wire, POLICIES_BYTES, bytes_of);
}
