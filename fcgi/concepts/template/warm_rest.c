/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "template/warm_rest.h"

#include <string.h>

#define PLACES 128

/* Notes, in a ring: a new one replaces the oldest. */
static struct {
    char id[ID_SIZE]; /* of a version, or of a team */
    int64_t until_ms;
} notes[PLACES];
static unsigned next;

static void note(const char *id, int64_t until_ms)
{
    if (!*id)
        return;
    memcpy(notes[next % PLACES].id, id, ID_SIZE);
    notes[next++ % PLACES].until_ms = until_ms;
}

static bool holds(const char *id, int64_t now_ms)
{
    for (unsigned i = 0; *id && i < PLACES; i++)
        if (now_ms < notes[i].until_ms && !strcmp(notes[i].id, id))
            return true;
    return false;
}

void warm_rest_note(const struct warm_want *want, int64_t took_ms, int64_t now_ms)
{
    note(want->template_version_id, now_ms + WARM_REST_VERSION_MS);
    note(want->owner, now_ms + WARM_REST_OWNER * took_ms);
}

bool warm_rests(const struct warm_want *want, int64_t now_ms)
{
    return holds(want->template_version_id, now_ms) || holds(want->owner, now_ms);
}
