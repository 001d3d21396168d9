/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Count the recent refusals of an address or another name. A client that guesses tokens and host
 * names is refused for a while without a check, so that it costs no query and no signature. Each
 * worker has one table of a fixed size; addresses that fall on the same place share an allowance.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define THROTTLE_PLACES 4096

struct throttle {
    unsigned char key[16]; /* random, so that clients cannot find out which addresses share a
                            * place */
    bool has_key;
    struct throttle_place {
        int64_t at_ms;   /* of the last refusal; monotonic */
        double refusals; /* that have not been worked off by then */
    } places[THROTTLE_PLACES];
};

/* Return whether the address has used up its allowance: rate refusals a second, and twice as many
 * at once. IPv6 addresses count by their network of 64 bits. */
bool throttle_is_over(struct throttle *throttle, const char *address, uint64_t rate,
                      int64_t now_ms);

/* Count one more refusal. */
void throttle_count(struct throttle *throttle, const char *address, uint64_t rate, int64_t now_ms);
