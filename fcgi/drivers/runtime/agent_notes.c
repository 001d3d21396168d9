/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtime/agent_notes.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/shared_file.h"

#define PLACES   4096
#define FRESH_MS 2000

/* Times are of the monotonic clock, which all processes share; the file does not outlive a boot. */
struct place {
    _Atomic uint64_t sandbox;
    _Atomic int64_t silent_until_ms;
    _Atomic int64_t slow_until_ms;
    _Atomic int64_t fresh_until_ms;
};

struct agent_notes {
    struct place *places;
    int64_t silence_ms;
};

int agent_notes_open(const char *dir, const char *name, uint64_t silence_s,
                     struct agent_notes **notes, struct error **err)
{
    void *map;
    autofree char *path = xasprintf("%s/%s", dir, name);
    if (shared_file_map(path, PLACES * sizeof(struct place), NULL, &map, err) < 0)
        return -1;
    *notes = xcalloc(1, sizeof **notes);
    **notes = (struct agent_notes){map, (int64_t)silence_s * 1000};
    return 0;
}

void agent_notes_close(struct agent_notes *notes)
{
    free(notes);
}

static struct place *place_of(const struct agent_notes *notes, uint64_t sandbox)
{
    return &notes->places[sandbox % PLACES];
}

/* Its place, empty when it was another's. */
static struct place *take_place(struct agent_notes *notes, uint64_t sandbox)
{
    struct place *place = place_of(notes, sandbox);
    if (atomic_exchange(&place->sandbox, sandbox) != sandbox) {
        atomic_store(&place->silent_until_ms, 0);
        atomic_store(&place->slow_until_ms, 0);
        atomic_store(&place->fresh_until_ms, 0);
    }
    return place;
}

static bool is_of(const struct place *place, uint64_t sandbox)
{
    return atomic_load(&place->sandbox) == sandbox;
}

void agent_notes_silent(struct agent_notes *notes, uint64_t sandbox)
{
    struct place *place = take_place(notes, sandbox);
    atomic_store(&place->silent_until_ms, clock_monotonic_ms() + notes->silence_ms);
    atomic_store(&place->slow_until_ms, 0);
    atomic_store(&place->fresh_until_ms, 0);
}

bool agent_notes_is_silent(const struct agent_notes *notes, uint64_t sandbox)
{
    const struct place *place = place_of(notes, sandbox);
    return is_of(place, sandbox) && clock_monotonic_ms() < atomic_load(&place->silent_until_ms);
}

void agent_notes_slow(struct agent_notes *notes, uint64_t sandbox, unsigned wait_ms)
{
    struct place *place = take_place(notes, sandbox);
    atomic_store(&place->slow_until_ms, clock_monotonic_ms() + wait_ms);
}

bool agent_notes_is_slow(const struct agent_notes *notes, uint64_t sandbox)
{
    const struct place *place = place_of(notes, sandbox);
    return is_of(place, sandbox) && clock_monotonic_ms() < atomic_load(&place->slow_until_ms);
}

void agent_notes_answered(struct agent_notes *notes, uint64_t sandbox)
{
    struct place *place = place_of(notes, sandbox);
    int64_t now_ms = clock_monotonic_ms();
    /* A note about another's trouble is worth more. */
    if (!is_of(place, sandbox) && (now_ms < atomic_load(&place->silent_until_ms) ||
                                   now_ms < atomic_load(&place->slow_until_ms)))
        return;
    place = take_place(notes, sandbox);
    atomic_store(&place->silent_until_ms, 0);
    atomic_store(&place->slow_until_ms, 0);
    atomic_store(&place->fresh_until_ms, now_ms + FRESH_MS);
}

bool agent_notes_is_fresh(const struct agent_notes *notes, uint64_t sandbox)
{
    const struct place *place = place_of(notes, sandbox);
    return is_of(place, sandbox) && clock_monotonic_ms() < atomic_load(&place->fresh_until_ms);
}
