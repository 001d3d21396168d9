/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/stale_flows.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ipv4.h"
#include "base/log.h"
#include "base/mem.h"
#include "firewall/state.h"

#define CUT_REST_MS 500 /* between two reads of the connection table */

/* Return the position of an address in the rising list, or the position to insert it at. */
static size_t place_of(const struct filter_ended *ended, uint32_t address)
{
    size_t low = 0;
    for (size_t high = ended->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (ended->addresses[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool holds(const struct filter_ended *ended, uint32_t address)
{
    size_t at = place_of(ended, address);
    return at < ended->count && ended->addresses[at] == address;
}

static void insert(struct filter_ended *ended, uint32_t address)
{
    size_t at = place_of(ended, address);
    if (holds(ended, address))
        return;
    if (!ended->count)
        ended->due_at_ms = clock_monotonic_ms() + CUT_REST_MS;
    ended->addresses = xreallocarray(ended->addresses, ended->count + 1, sizeof *ended->addresses);
    memmove(ended->addresses + at + 1, ended->addresses + at,
            (ended->count - at) * sizeof *ended->addresses);
    ended->addresses[at] = address;
    ended->count++;
}

static void drop(struct filter *filter, uint32_t address)
{
    struct filter_ended *ended = &filter->ended;
    size_t at = place_of(ended, address);
    error_auto err = NULL;
    char text[IPV4_TEXT_SIZE];
    ended->count--;
    memmove(ended->addresses + at, ended->addresses + at + 1,
            (ended->count - at) * sizeof *ended->addresses);
    /* If the file stays, the address is cut again after the next start. */
    if (state_forget_ended(filter->settings->firewall_state_dir, address, &err) < 0)
        log_warning("cannot delete the file of a deleted sandbox; its connections are cut again at "
                    "the next start",
                    LOG_STR("address", ipv4_format(address, text)), LOG_ERROR(err));
}

int stale_flows_add(struct filter *filter, uint32_t address, struct error **err)
{
    if (state_end(filter->settings->firewall_state_dir, address, err) < 0)
        return -1;
    insert(&filter->ended, address);
    return 0;
}

int stale_flows_cut_now(struct filter *filter, uint32_t address, bool *held, struct error **err)
{
    size_t cut;
    *held = holds(&filter->ended, address);
    if (!*held)
        return 0;
    if (flows_cut(filter->flows, address, NULL, NULL, &cut, err) < 0)
        return -1;
    drop(filter, address);
    return 0;
}

static void on_ended(void *context, uint32_t address)
{
    struct filter *filter = context;
    insert(&filter->ended, address);
}

int stale_flows_restore(struct filter *filter, struct error **err)
{
    return state_load_ended(filter->settings->firewall_state_dir, on_ended, filter, err);
}

/* Return a copy of the list if it is due, else NULL. */
static uint32_t *take_due(struct filter *filter, size_t *count)
{
    struct filter_ended *ended = &filter->ended;
    uint32_t *addresses = NULL;
    filter_lock(filter);
    *count = ended->count;
    if (ended->count && clock_monotonic_ms() >= ended->due_at_ms) {
        addresses = xreallocarray(NULL, ended->count, sizeof *addresses);
        memcpy(addresses, ended->addresses, ended->count * sizeof *addresses);
        ended->due_at_ms = clock_monotonic_ms() + CUT_REST_MS;
    }
    filter_unlock(filter);
    return addresses;
}

/* Cut the flows that were found. An address that is no longer in the list belongs to another
 * sandbox. */
static size_t cut_found(struct filter *filter, const struct flows_found *found,
                        const uint32_t *addresses, size_t count)
{
    size_t cut = 0;
    filter_lock(filter);
    for (size_t i = 0; i < count; i++) {
        if (!holds(&filter->ended, addresses[i]))
            continue;
        flows_cut_found(filter->flows, found, addresses[i], &cut);
        drop(filter, addresses[i]);
    }
    filter->ended.due_at_ms = clock_monotonic_ms() + CUT_REST_MS;
    filter_unlock(filter);
    return cut;
}

void stale_flows_cut_due(struct filter *filter)
{
    struct flows_found *found = NULL;
    error_auto err = NULL;
    size_t count;
    autofree uint32_t *addresses = take_due(filter, &count);
    if (!addresses)
        return;
    if (flows_find(filter->flows, addresses, count, &found, &err) < 0) {
        log_warning("cannot cut the connections of deleted sandboxes; trying again",
                    LOG_INT("sandboxes", count), LOG_ERROR(err));
    } else {
        size_t cut = cut_found(filter, found, addresses, count);
        if (cut)
            log_info("cut the connections of deleted sandboxes", LOG_INT("sandboxes", count),
                     LOG_INT("count", cut));
    }
    flows_found_free(found);
}
