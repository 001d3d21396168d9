/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/sweep_failure.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

enum { RESTS_KNOWN = 512, REST_ID_SIZE = 64 };

/* The objects that failed lately, in any order. */
static struct rest {
    char id[REST_ID_SIZE];
    int64_t until_ms; /* monotonic */
    int64_t last_ms;  /* the duration of this rest */
} rests[RESTS_KNOWN];

size_t sweep_first(size_t count)
{
    return count ? randombytes_uniform((uint32_t)count) : 0;
}

bool sweep_passes_over(unsigned *failures, const char *id, struct error **err)
{
    enum error_code code = (*err)->code;
    if (code == ERR_DB_UNAVAILABLE || code == ERR_DB_FULL || code == ERR_HOST_UNREACHABLE)
        return false;
    *failures += code == ERR_RUNTIME_UNAVAILABLE ? SWEEP_FAILURES_MAX : 1;
    log_warning("a background sweep cannot handle an object; the next sweep tries again",
                LOG_STR("object", id), LOG_ERROR(*err));
    error_clear(err);
    return true;
}

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

void sweep_rest(const char *id)
{
    int64_t now_ms = clock_monotonic_ms(), rest_ms = SWEEP_REST_FIRST_MS;
    struct rest *one = rest_of(id);
    if (one && now_ms - one->until_ms < SWEEP_REST_MOST_MS)
        rest_ms = one->last_ms * 2 < SWEEP_REST_MOST_MS ? one->last_ms * 2 : SWEEP_REST_MOST_MS;
    if (!one)
        one = first_to_end();
    *one = (struct rest){.until_ms = now_ms + rest_ms, .last_ms = rest_ms};
    snprintf(one->id, sizeof one->id, "%s", id);
}

bool sweep_rests(const char *id)
{
    const struct rest *one = rest_of(id);
    return one && clock_monotonic_ms() < one->until_ms;
}
