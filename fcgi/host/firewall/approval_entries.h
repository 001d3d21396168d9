/* SPDX-License-Identifier: GPL-2.0-or-later */
/* List the latest entries of a policy that a sandbox needs approval for. Without input and
 * output. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#define APPROVAL_ENTRIES_MAX       16    /* of a sandbox; a new one replaces the oldest */
#define APPROVAL_ENTRIES_LIST_MAX  2000  /* of all sandboxes, in one answer to the control plane */
#define APPROVAL_ENTRIES_RECENT_MS 60000 /* older ones are not listed */

struct approval_entry {
    int64_t at_ms; /* monotonic; the latest time */
    char *entry;   /* owned; NULL: a free place */
};

struct approval_entries {
    struct approval_entry items[APPROVAL_ENTRIES_MAX];
};
void approval_entries_deinit(struct approval_entries *asks);

/* Add an entry such as "api.example.com" or "203.0.113.7:443", or note that it came again. */
void approval_entries_add(struct approval_entries *asks, const char *entry, int64_t now_ms);

/* Return the recent entries, at most `most`, as texts; NULL without an entry. The caller owns the
 * array. */
json_t *approval_entries_json(const struct approval_entries *asks, size_t most, int64_t now_ms);
