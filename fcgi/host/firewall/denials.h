/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sandbox was refused lately: a short list in which repeats are counted. Pure. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#define DENIALS_MAX       64
#define DENIAL_TARGET_MAX 253

/* DENIAL_LIMIT: allowed, but one connection too many; one entry for each protocol, with the last
 * target, so that a flood of them leaves the others in the list. */
enum denial_kind { DENIAL_CONNECTION, DENIAL_NAME, DENIAL_LIMIT };

struct denial {
    int64_t at_ms; /* wall clock; of the last one */
    uint64_t count;
    enum denial_kind kind;
    uint16_t port;        /* 0: none */
    const char *protocol; /* "tcp", "udp", "icmp", "other"; static; NULL for a name */
    char target[DENIAL_TARGET_MAX + 1];
};

struct denials {
    struct denial items[DENIALS_MAX];
    size_t count;
    uint64_t total; /* of all that were ever added */
};

/* Add one; past the maximum the oldest is forgotten. Too long a target is cut. */
void denials_add(struct denials *denials, enum denial_kind kind, const char *target, uint16_t port,
                 const char *protocol, int64_t now_ms);

/* Newest first, as the control plane reads it; the caller owns the array. */
json_t *denials_json(const struct denials *denials);
