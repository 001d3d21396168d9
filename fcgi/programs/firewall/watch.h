/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that some policy denies, shared by all sandboxes: their addresses are looked up again and
 * again, so that a denied name cannot be reached by its address either. An address stays a while
 * after it was last seen, since names of many machines answer with a few of them at a time. Pure
 * but for what the caller does with watch_due(). Times are monotonic milliseconds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firewall/rate.h"

#define WATCH_ADDRESSES_MAX 64
#define WATCHES_MAX         65536
#define WATCH_KEEP_MS       600000
#define WATCH_BUCKETS       16384
/* Questions a second, of names that were never answered and of all others, and how many at once:
 * so the largest number of watches is asked within WATCH_KEEP_MS, and whoever always denies new
 * names does not keep the others waiting. */
#define WATCH_PER_S 128
#define WATCH_BURST 512

struct watch_address {
    uint32_t address; /* host byte order */
    int64_t seen_at_ms;
};

struct watch {
    char *name;
    struct watch_address addresses[WATCH_ADDRESSES_MAX];
    size_t count;
    int64_t due_at_ms;
    bool asked;    /* an answer is on its way */
    bool answered; /* there was one, of whatever kind */
    unsigned users;
    struct watch *next;                      /* of the same bucket */
    struct watch *ring_next, *ring_previous; /* all of them, as they are asked */
};

/* All zeroes is an empty one. */
struct watch_list {
    struct watch *buckets[WATCH_BUCKETS];
    struct watch *at; /* where watch_due() goes on */
    size_t count;
    struct rate fresh, known;
};

/* The watch of that name, made when there is none and then asked before the others; each use is
 * one. NULL when there are too many: the name cannot be denied. */
struct watch *watch_use(struct watch_list *list, const char *name);
void watch_release(struct watch_list *list, struct watch *watch);

bool watch_has(const struct watch *watch, uint32_t address);

/* Take an answer (count 0: none came, or it held no address) and when to ask again. True when an
 * address is new or one has gone. */
bool watch_answered(struct watch *watch, const uint32_t *addresses, size_t count, int64_t now_ms,
                    int64_t again_ms);

/* The watch of that name, or NULL. */
struct watch *watch_find(const struct watch_list *list, const char *name);

/* The next watch that should be asked now, or NULL. *looks: how many it may look at, counted
 * down. */
struct watch *watch_due(struct watch_list *list, int64_t now_ms, unsigned *looks);
