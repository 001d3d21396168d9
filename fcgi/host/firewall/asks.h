/* SPDX-License-Identifier: GPL-2.0-or-later */
/* List the latest entries of a policy that a sandbox needs approval for. Without input and
 * output. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#define ASKS_MAX       16    /* of a sandbox; a new one replaces the oldest */
#define ASKS_LIST_MAX  2000  /* of all sandboxes, in one answer to the control plane */
#define ASKS_RECENT_MS 60000 /* older ones are not listed */

struct ask {
    int64_t at_ms; /* monotonic; the latest time */
    char *entry;   /* owned; NULL: a free place */
};

struct asks {
    struct ask items[ASKS_MAX];
};
void asks_deinit(struct asks *asks);

/* Add an entry such as "api.example.com" or "203.0.113.7:443", or note that it came again. */
void asks_add(struct asks *asks, const char *entry, int64_t now_ms);

/* Return the recent entries, at most `most`, as texts; NULL without an entry. The caller owns the
 * array. */
json_t *asks_json(const struct asks *asks, size_t most, int64_t now_ms);
