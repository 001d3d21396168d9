/* SPDX-License-Identifier: GPL-2.0-or-later */
/* List the latest refusals of a sandbox, and count repeats. Without input and output. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#define DENIALS_MAX       64
#define DENIAL_TARGET_MAX 253

/* DENIAL_LIMIT: the target is allowed, but the sandbox has too many connections. There is one entry
 * for each protocol, with the last target, so that a flood does not displace the others.
 * DENIAL_PROXY: the egress proxy did not open the connection. */
enum denial_kind { DENIAL_CONNECTION, DENIAL_NAME, DENIAL_LIMIT, DENIAL_PROXY };

struct denial {
    int64_t at_ms; /* wall clock; the latest refusal */
    uint64_t count;
    enum denial_kind kind;
    uint16_t port;        /* 0: no port */
    const char *protocol; /* "tcp", "udp", "icmp", "other"; static; NULL for a name */
    char target[DENIAL_TARGET_MAX + 1];
};

struct denials {
    struct denial items[DENIALS_MAX];
    size_t count;
    uint64_t total; /* of all refusals */
};

/* Add a refusal. A full list drops the oldest entry. A target that is too long is cut. */
void denials_add(struct denials *denials, enum denial_kind kind, const char *target, uint16_t port,
                 const char *protocol, int64_t now_ms);

/* Return the list, newest first, in the form of the control plane; the caller owns the array. */
json_t *denials_json(const struct denials *denials);
