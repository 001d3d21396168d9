/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/principal_cache_row.h"

#include <stdlib.h>
#include <string.h>

#include "account/access_revision.h"
#include "base/mem.h"

/* A worker sees few keys at a time. A place takes some 20 KiB at most; users with more teams than
 * TEAMS_MAX are read from the database each time. */
#define PLACES    256
#define TEAMS_MAX 128

struct place {
    char lookup[API_KEY_LOOKUP_LENGTH + 1]; /* "": free */
    uint64_t revision;
    struct api_key_credential credential;
    struct principal principal;
};

struct principal_cache {
    struct place places[PLACES];
};

struct principal_cache *principal_cache_new(void)
{
    return xcalloc(1, sizeof(struct principal_cache));
}

static void clear(struct place *place)
{
    principal_deinit(&place->principal);
    mem_wipe(place, sizeof *place);
}

void principal_cache_free(struct principal_cache *cache)
{
    for (unsigned i = 0; cache && i < PLACES; i++)
        clear(&cache->places[i]);
    free(cache);
}

/* Return the only place for a key. Lookup parts are random, so two keys seldom share a place. */
static struct place *place_of(struct principal_cache *cache, const char *lookup)
{
    unsigned hash = 0;
    for (const char *c = lookup; *c; c++)
        hash = hash * 31 + (unsigned char)*c;
    return &cache->places[hash % PLACES];
}

static void copy_principal(struct principal *to, const struct principal *from)
{
    *to = *from;
    to->teams = xreallocarray(NULL, from->team_count, sizeof *to->teams);
    memcpy(to->teams, from->teams, from->team_count * sizeof *to->teams);
}

static void keep(struct place *place, const char *lookup, uint64_t revision,
                 const struct api_key_credential *credential, const struct principal *principal)
{
    clear(place);
    if (!credential->found || !principal->team_count || principal->team_count > TEAMS_MAX)
        return;
    memcpy(place->lookup, lookup, sizeof place->lookup);
    place->revision = revision;
    place->credential = *credential;
    copy_principal(&place->principal, principal);
}

bool principal_cache_look(struct principal_cache *cache, const char *lookup,
                          struct api_key_credential *credential, struct principal *principal)
{
    const struct place *place = place_of(cache, lookup);
    if (strcmp(place->lookup, lookup) != 0)
        return false;
    *credential = place->credential;
    copy_principal(principal, &place->principal);
    principal->revision = place->revision;
    return true;
}

int principal_cache_find(struct principal_cache *cache, struct db *db, const char *lookup,
                         struct api_key_credential *credential, struct principal *principal,
                         struct error **err)
{
    uint64_t revision;
    if (!cache)
        return api_key_row_find(db, lookup, credential, principal, err);
    if (access_revision_get(db, &revision, err) < 0)
        return -1;
    struct place *place = place_of(cache, lookup);
    if (place->revision == revision && strcmp(place->lookup, lookup) == 0) {
        *credential = place->credential;
        copy_principal(principal, &place->principal);
    } else {
        if (api_key_row_find(db, lookup, credential, principal, err) < 0)
            return -1;
        keep(place, lookup, revision, credential, principal);
    }
    principal->revision = revision;
    return 0;
}

void principal_cache_used(struct principal_cache *cache, const char *lookup, int64_t now_ms)
{
    struct place *place = cache ? place_of(cache, lookup) : NULL;
    if (place && strcmp(place->lookup, lookup) == 0)
        place->credential.last_used_at_ms = now_ms;
}
