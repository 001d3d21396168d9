/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "template/warm_rest.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PLACES     256
#define TEAM_NOTES 16

static struct note {
    char owner[ID_SIZE]; /* "": the deployment */
    char id[ID_SIZE];    /* of a version, or of a team */
    int64_t until_ms;
    uint64_t number; /* a later note has a larger one */
} notes[PLACES];

static unsigned count_of(const char *owner, int64_t now_ms)
{
    unsigned count = 0;
    for (unsigned i = 0; i < PLACES; i++)
        count += now_ms < notes[i].until_ms && !strcmp(notes[i].owner, owner);
    return count;
}

static struct note *oldest_of(const char *owner, int64_t now_ms)
{
    struct note *oldest = NULL;
    for (unsigned i = 0; i < PLACES; i++)
        if (now_ms < notes[i].until_ms && !strcmp(notes[i].owner, owner) &&
            (!oldest || notes[i].number < oldest->number))
            oldest = &notes[i];
    return oldest;
}

static const char *owner_of_most(int64_t now_ms)
{
    const char *owner = notes[0].owner;
    unsigned most = 0;
    for (unsigned i = 0; i < PLACES; i++) {
        unsigned count = count_of(notes[i].owner, now_ms);
        if (count > most) {
            most = count;
            owner = notes[i].owner;
        }
    }
    return owner;
}

/* Return the note with this id, else a free place. A team with TEAM_NOTES loses its oldest note.
 * When all places are taken, the team with the most notes loses its oldest one. */
static struct note *place_for(const char *owner, const char *id, int64_t now_ms)
{
    struct note *free_place = NULL;
    for (unsigned i = 0; i < PLACES; i++) {
        if (!strcmp(notes[i].id, id))
            return &notes[i];
        if (notes[i].until_ms <= now_ms)
            free_place = &notes[i];
    }
    if (count_of(owner, now_ms) >= TEAM_NOTES)
        return oldest_of(owner, now_ms);
    return free_place ? free_place : oldest_of(owner_of_most(now_ms), now_ms);
}

static void note(const char *owner, const char *id, int64_t until_ms, int64_t now_ms)
{
    static uint64_t last_number;
    if (!*id)
        return;
    struct note *place = place_for(owner, id, now_ms);
    memcpy(place->owner, owner, ID_SIZE);
    memcpy(place->id, id, ID_SIZE);
    place->until_ms = until_ms;
    place->number = ++last_number;
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
    note(want->owner, want->template_version_id, now_ms + WARM_REST_VERSION_MS, now_ms);
    note(want->owner, want->owner, now_ms + WARM_REST_OWNER * took_ms, now_ms);
}

bool warm_rests(const struct warm_want *want, int64_t now_ms)
{
    return holds(want->template_version_id, now_ms) || holds(want->owner, now_ms);
}
