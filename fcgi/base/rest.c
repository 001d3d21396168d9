/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/rest.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { RESTS_KNOWN = 512, REST_ID_SIZE = 128 };

/* The objects that failed lately, in any order. */
static struct rest {
    char id[REST_ID_SIZE];
    int64_t until_ms; /* monotonic */
    int64_t last_ms;  /* the duration of this rest */
} rests[RESTS_KNOWN];

/* Return the entry of an object, or NULL. */
static struct rest *rest_of(const char *id)
{
    for (struct rest *one = rests; one < rests + RESTS_KNOWN; one++)
        if (!strcmp(one->id, id))
            return one;
    return NULL;
}

/* Return the entry whose rest ends first. */
static struct rest *first_to_end(void)
{
    struct rest *first = rests;
    for (struct rest *one = rests; one < rests + RESTS_KNOWN; one++)
        if (one->until_ms < first->until_ms)
            first = one;
    return first;
}

void rest_after_failure(const char *id, int64_t first_ms, int64_t most_ms)
{
    int64_t now_ms = clock_monotonic_ms(), rest_ms = first_ms;
    struct rest *one = rest_of(id);
    if (one && now_ms - one->until_ms < most_ms)
        rest_ms = one->last_ms * 2 < most_ms ? one->last_ms * 2 : most_ms;
    if (!one)
        one = first_to_end();
    *one = (struct rest){.until_ms = now_ms + rest_ms, .last_ms = rest_ms};
    snprintf(one->id, sizeof one->id, "%s", id);
}

bool rest_lasts(const char *id)
{
    const struct rest *one = rest_of(id);
    return one && clock_monotonic_ms() < one->until_ms;
}
