/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that some policy denies, shared by all sandboxes: their addresses are looked up again and
 * again, so that a denied name cannot be reached by its address either. An address stays a while
 * after it was last seen, since names of many machines answer with a few of them at a time. Pure
 * but for what the caller does with lookup_due(). Times are monotonic milliseconds.
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
/* Questions a second, of names that were never answered and of all others, and how many at once:
 * so the largest number of lookups is asked within LOOKUP_KEEP_MS, and whoever always denies new
 * names does not keep the others waiting. */
#define LOOKUP_PER_S 128
#define LOOKUP_BURST 512

struct lookup_address {
    uint32_t address; /* host byte order */
    int64_t seen_at_ms;
};

struct lookup {
    char *name;
    struct lookup_address addresses[LOOKUP_ADDRESSES_MAX];
    size_t count;
    int64_t due_at_ms;
    bool asked;    /* an answer is on its way */
    bool answered; /* there was one, of whatever kind */
    unsigned users;
    struct lookup *next;                      /* of the same bucket */
    struct lookup *ring_next, *ring_previous; /* all of them, as they are asked */
};

/* All zeroes is an empty one. */
struct lookup_list {
    struct lookup *buckets[LOOKUP_BUCKETS];
    struct lookup *at; /* where lookup_due() goes on */
    size_t count;
    struct rate fresh, known;
};

/* The lookup of that name, made when there is none and then asked before the others; each use is
 * one. NULL when there are too many: the name cannot be denied. */
struct lookup *lookup_use(struct lookup_list *list, const char *name);
void lookup_release(struct lookup_list *list, struct lookup *lookup);

bool lookup_has(const struct lookup *lookup, uint32_t address);

/* Take an answer (count 0: none came, or it held no address) and when to ask again. True when an
 * address is new or one has gone. */
bool lookup_answered(struct lookup *lookup, const uint32_t *addresses, size_t count, int64_t now_ms,
                     int64_t again_ms);

/* The lookup of that name, or NULL. */
struct lookup *lookup_find(const struct lookup_list *list, const char *name);

/* The next lookup that should be asked now, or NULL. *looks: how many it may look at, counted
 * down. */
struct lookup *lookup_due(struct lookup_list *list, int64_t now_ms, unsigned *looks);
