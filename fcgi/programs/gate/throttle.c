/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/throttle.h"

#include <arpa/inet.h>
#include <sodium.h>
#include <string.h>

#define BURST_FACTOR 2
#define NETWORK_SIZE 8 /* bytes of an IPv6 address that say whose it is */

_Static_assert(sizeof((struct throttle *)0)->key == crypto_shorthash_KEYBYTES, "the key fits");

static struct throttle_place *place_of(struct throttle *throttle, const char *address)
{
    unsigned char binary[16] = {0};
    uint64_t hash = 0;
    size_t length = strlen(address);
    const unsigned char *name = (const unsigned char *)address;
    if (!throttle->has_key) {
        crypto_shorthash_keygen(throttle->key);
        throttle->has_key = true;
    }
    if (inet_pton(AF_INET6, address, binary) == 1) {
        name = binary;
        length = NETWORK_SIZE;
    }
    crypto_shorthash((unsigned char *)&hash, name, length, throttle->key);
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
