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
    struct api_key_credential credential;
    struct principal principal;
};

struct principal_cache {
    uint64_t revision; /* the access revision for which all places are valid */
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

static void keep(struct place *place, const char *lookup,
                 const struct api_key_credential *credential, const struct principal *principal)
{
    clear(place);
    if (!credential->found || !principal->team_count || principal->team_count > TEAMS_MAX)
        return;
    memcpy(place->lookup, lookup, sizeof place->lookup);
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
    principal->revision = cache->revision;
    return true;
}

/* Forget the keys of the users whose rights have changed. */
static int follow(struct principal_cache *cache, struct db *db, struct error **err)
{
    struct access_changes changes;
    uint64_t revision;
    if (access_revision_get(db, &revision, err) < 0)
        return -1;
    if (revision == cache->revision)
        return 0;
    if (access_changes_read(db, cache->revision, revision, &changes, err) < 0)
        return -1;
    for (unsigned i = 0; i < PLACES; i++) {
        struct place *place = &cache->places[i];
        if (*place->lookup && access_changes_concern(&changes, place->principal.user_id))
            clear(place);
    }
    cache->revision = revision;
    return 0;
}

int principal_cache_find(struct principal_cache *cache, struct db *db, const char *lookup,
                         struct api_key_credential *credential, struct principal *principal,
                         struct error **err)
{
    if (!cache)
        return api_key_row_find(db, lookup, credential, principal, err);
    if (follow(cache, db, err) < 0)
        return -1;
    struct place *place = place_of(cache, lookup);
    if (strcmp(place->lookup, lookup) == 0) {
        *credential = place->credential;
        copy_principal(principal, &place->principal);
    } else {
        if (api_key_row_find(db, lookup, credential, principal, err) < 0)
            return -1;
        keep(place, lookup, credential, principal);
    }
    principal->revision = cache->revision;
    return 0;
}

void principal_cache_used(struct principal_cache *cache, const char *lookup, int64_t now_ms)
{
    struct place *place = cache ? place_of(cache, lookup) : NULL;
    if (place && strcmp(place->lookup, lookup) == 0)
        place->credential.last_used_at_ms = now_ms;
}
