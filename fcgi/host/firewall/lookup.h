/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look up the denied names of all policies repeatedly, so that their addresses can be denied too.
 *
 * All sandboxes share the lookups. An address is kept for a while after it was last seen. A name of
 * many machines has many addresses, and each answer has only a few of these. Without input and
 * output, except by the caller of lookup_due(). Times are monotonic milliseconds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firewall/rate.h"

#define LOOKUP_ADDRESSES_MAX 64
#define LOOKUPS_MAX          65536
#define LOOKUP_KEEP_MS       600000
#define LOOKUP_BUCKETS       16384
/* Questions: the rate for each second, and the burst. Names that were never answered have one rate,
 * all others have another. So the largest number of lookups is asked within LOOKUP_KEEP_MS, and a
 * tenant that always denies new names does not delay the others. */
#define LOOKUP_PER_S 128
#define LOOKUP_BURST 512

struct lookup_address {
    uint32_t address; /* host byte order */
    int64_t seen_at_ms;
    int64_t failed_at_ms; /* a connection to it failed; 0: never */
};

struct lookup {
    char *name;
    struct lookup_address addresses[LOOKUP_ADDRESSES_MAX];
    size_t count;
    int64_t due_at_ms;
    bool asked;    /* waits for an answer */
    bool answered; /* there was an answer, of any kind */
    unsigned users;
    struct lookup *next;                      /* of the same bucket */
    struct lookup *ring_next, *ring_previous; /* all lookups, in the order of questions */
};

/* The list. All zeroes: empty. */
struct lookup_list {
    struct lookup *buckets[LOOKUP_BUCKETS];
    struct lookup *at; /* lookup_due() continues here */
    size_t count;
    struct rate fresh, known;
};

/* Return the lookup of a name, for one more user. A new lookup is asked before the others. NULL:
 * there are too many, so the name cannot be denied. */
struct lookup *lookup_use(struct lookup_list *list, const char *name);
void lookup_release(struct lookup_list *list, struct lookup *lookup);

bool lookup_has(const struct lookup *lookup, uint32_t address);

/* Note that a connection to an address failed. */
void lookup_failed(struct lookup *lookup, uint32_t address, int64_t now_ms);

/* Store an answer, and the time until the next question. count 0: no answer, or no address in it.
 * Returns true when an address is new, or an old one was dropped. */
bool lookup_answered(struct lookup *lookup, const uint32_t *addresses, size_t count, int64_t now_ms,
                     int64_t again_ms);

/* Return the lookup of a name, or NULL. */
struct lookup *lookup_find(const struct lookup_list *list, const char *name);

/* Return the next lookup to ask, or NULL. *looks: how many lookups it may check; counted down. */
struct lookup *lookup_due(struct lookup_list *list, int64_t now_ms, unsigned *looks);
