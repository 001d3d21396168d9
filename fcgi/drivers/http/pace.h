/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Enforce a lowest speed of a client that sends a body or reads an answer, by a budget of waiting
 * time. Waiting spends the budget. Each byte adds a part, up to a maximum. A client that stalls
 * after a quick start is therefore soon too slow, and one with short pauses is not. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pace {
    unsigned rate_min; /* bytes/s; 0: any speed */
    int64_t left_us, most_us;
};

/* Start with a budget of grace_s. It never grows above six times this. */
void pace_init(struct pace *pace, unsigned rate_min, unsigned grace_s);

/* Count bytes that the client sent or received. */
void pace_moved(struct pace *pace, size_t bytes);

/* Count a time for which the worker waited for the client. */
void pace_waited(struct pace *pace, int64_t wait_us);

/* Return whether the client is slower than it may be. */
bool pace_is_too_slow(const struct pace *pace);
