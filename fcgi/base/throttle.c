/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/throttle.h"

#include <sodium.h>
#include <string.h>

#include "base/client_network.h"

#define BURST_FACTOR 2

_Static_assert(sizeof((struct throttle *)0)->key == crypto_shorthash_KEYBYTES, "the key fits");

static struct throttle_place *place_of(struct throttle *throttle, const char *address)
{
    uint64_t hash = 0;
    char network[CLIENT_NETWORK_SIZE];
    if (!throttle->has_key) {
        crypto_shorthash_keygen(throttle->key);
        throttle->has_key = true;
    }
    client_network(address, network);
    crypto_shorthash((unsigned char *)&hash, (const unsigned char *)network, strlen(network),
                     throttle->key);
    return &throttle->places[hash % THROTTLE_PLACES];
}

static double left_at(const struct throttle_place *place, uint64_t rate, int64_t now_ms)
{
    double left = place->refusals - (double)(now_ms - place->at_ms) / 1000 * (double)rate;
    return left > 0 ? left : 0;
}

bool throttle_is_over(struct throttle *throttle, const char *address, uint64_t rate, int64_t now_ms)
{
    return left_at(place_of(throttle, address), rate, now_ms) >= (double)(rate * BURST_FACTOR);
}

void throttle_count(struct throttle *throttle, const char *address, uint64_t rate, int64_t now_ms)
{
    struct throttle_place *place = place_of(throttle, address);
    place->refusals = left_at(place, rate, now_ms) + 1;
    place->at_ms = now_ms;
}
