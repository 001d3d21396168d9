/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "front/front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "front/front_row.h"

/* --- the key ring --- */

static int fingerprint_of(const struct keyring *ring, const struct keyring_key *own,
                          struct front_key *key, struct error **err)
{
    static const char text[] = "sandlot key ring";
    key->id = own->id;
    key->in_use = own->in_use;
    return mac_compute(ring, own->id, KEY_PURPOSE_FINGERPRINT, text, strlen(text), key->fingerprint,
                       err);
}

static const struct front_key *find(const struct front_key *keys, unsigned count, uint16_t id)
{
    for (unsigned i = 0; i < count; i++)
        if (keys[i].id == id)
            return &keys[i];
    return NULL;
}

static bool has(const struct keyring *ring, uint16_t id)
{
    struct keyring_key own;
    for (size_t i = 0; keyring_key_at(ring, i, &own); i++)
        if (own.id == id)
            return true;
    return false;
}

static void look_for_missing(const struct keyring *ring, const struct front_key *keys,
                             unsigned count, struct front_ring *found)
{
    for (unsigned i = 0; i < count; i++) {
        if (has(ring, keys[i].id))
            continue;
        if (keys[i].in_use)
            found->lacks = keys[i].id;
        else
            found->to_add = keys[i].id;
    }
}

/* remembers: store keys that are new to the deployment. */
static int compare(struct db *db, const struct keyring *ring, bool remembers,
                   struct front_ring *found, struct error **err)
{
    autofree struct front_key *keys = NULL;
    struct keyring_key own;
    unsigned count;
    *found = (struct front_ring){0};
    if (front_row_keys(db, &keys, &count, err) < 0)
        return -1;
    for (size_t i = 0; keyring_key_at(ring, i, &own); i++) {
        struct front_key key;
        const struct front_key *known = find(keys, count, own.id);
        if (fingerprint_of(ring, &own, &key, err) < 0)
            return -1;
        if (known && own.id == keyring_newest(ring))
            found->newest_at_ms = known->added_at_ms;
        found->old += own.in_use && own.id != keyring_newest(ring);
        if (known && !mac_equal(known->fingerprint, key.fingerprint))
            found->other = own.id;
        else if (remembers && (!known || known->in_use < own.in_use) &&
                 front_row_add_key(db, &key, err) < 0)
            return -1;
    }
    look_for_missing(ring, keys, count, found);
    return 0;
}

int front_ring_compare(struct db *db, const struct keyring *ring, struct front_ring *found,
                       struct error **err)
{
    return compare(db, ring, false, found, err);
}

int front_ring_check(struct db *db, const struct keyring *ring, struct error **err)
{
    struct front_ring found;
    error_auto failure = NULL;
    if (compare(db, ring, true, &found, &failure) < 0) {
        log_warning("cannot compare this machine's key ring with the deployment's; continuing",
                    LOG_ERROR(failure));
        return 0;
    }
    if (found.other)
        return error_set(
            err, ERR_CONFIG,
            "key %u of this machine's key ring differs from the deployment's. Copy "
            "the key ring of another front node to this machine. If the deployment's key "
            "is lost, run `sandlotctl keyring forget %u`",
            found.other, found.other);
    if (found.lacks)
        log_warning("this machine's key ring lacks a key that the deployment uses; copy the key "
                    "ring of another front node",
                    LOG_INT("key", found.lacks));
    return 0;
}

/* --- settings --- */

/* The settings that clients or other front nodes would notice. Settings of one machine alone are
 * not here. */
static const char *const same[] = {
    "base_url",      "console_url", "data_plane_host", "default_template",
    "database_name", "oidc_issuer", "oidc_client_id",  "archive_url",
};

static void own_name(char name[65])
{
    struct utsname host;
    uname(&host);
    snprintf(name, 65, "%.64s", host.nodename);
}

/* In the report of a front, besides its settings. The last key may not be in use yet. */
#define NEWEST_KEY "keyring newest"
#define LAST_KEY   "keyring last"

static uint16_t last_key(const struct keyring *ring)
{
    struct keyring_key key;
    uint16_t last = 0;
    for (size_t i = 0; keyring_key_at(ring, i, &key); i++)
        last = key.id > last ? key.id : last;
    return last;
}

int front_note(struct db *db, const struct keyring *ring, const struct settings *settings,
               struct error **err)
{
    char name[65];
    json_auto_t *said = json_pack("{s:i, s:i}", NEWEST_KEY, (int)keyring_newest(ring), LAST_KEY,
                                  (int)last_key(ring));
    for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
        autofree char *value = settings_get(settings, same[i]);
        json_object_set_new(said, same[i], json_string(value));
    }
    autofree char *text = json_dumps(said, JSON_COMPACT);
    own_name(name);
    return front_row_put(db, name, text, err);
}

int front_ring_in_use(struct db *db, const struct keyring *ring, struct error **err)
{
    autofree struct front_row *all = NULL;
    unsigned count;
    int result = 0;
    if (front_row_list(db, &all, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        json_int_t newest = json_integer_value(json_object_get(all[i].settings, NEWEST_KEY));
        json_decref(all[i].settings);
        if (result == 0 && newest != keyring_newest(ring))
            result =
                error_set(err, ERR_INVALID_REQUEST,
                          "The front node %s has not reported that it uses key %u: copy the key "
                          "ring to it, restart its programs, and try again after a minute.",
                          all[i].name, keyring_newest(ring));
    }
    return result;
}

static void add_lag(struct front_lag **list, unsigned *count, const struct front_row *front,
                    uint16_t key)
{
    json_int_t last = json_integer_value(json_object_get(front->settings, LAST_KEY));
    if (!last || last >= key)
        return;
    *list = xreallocarray(*list, *count + 1, sizeof **list);
    struct front_lag *lag = &(*list)[(*count)++];
    *lag = (struct front_lag){.key = key};
    snprintf(lag->front, sizeof lag->front, "%s", front->name);
}

int front_ring_lags(struct db *db, struct front_lag **list, unsigned *count, struct error **err)
{
    autofree struct front_key *keys = NULL;
    autofree struct front_row *all = NULL;
    unsigned key_count, front_count;
    *list = NULL;
    *count = 0;
    if (front_row_keys(db, &keys, &key_count, err) < 0 ||
        front_row_list(db, &all, &front_count, err) < 0)
        return -1;
    for (unsigned i = 0; i < front_count; i++) {
        if (key_count) /* sorted */
            add_lag(list, count, &all[i], keys[key_count - 1].id);
        json_decref(all[i].settings);
    }
    return 0;
}

static void compare_front(const struct front_row *front, const struct settings *settings,
                          struct front_difference **list, unsigned *count)
{
    for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
        const char *there = json_string_value(json_object_get(front->settings, same[i]));
        autofree char *here = settings_get(settings, same[i]);
        if (!there || str_equal(there, here))
            continue;
        *list = xreallocarray(*list, *count + 1, sizeof **list);
        struct front_difference *difference = &(*list)[(*count)++];
        *difference = (struct front_difference){
            .setting = same[i], .here = steal_pointer(&here), .there = xstrdup(there)};
        snprintf(difference->front, sizeof difference->front, "%s", front->name);
    }
}

int front_compare(struct db *db, const struct settings *settings, struct front_difference **list,
                  unsigned *count, unsigned *fronts, struct error **err)
{
    autofree struct front_row *all = NULL;
    unsigned known;
    char name[65];
    *list = NULL;
    *count = *fronts = 0;
    own_name(name);
    if (front_row_list(db, &all, &known, err) < 0)
        return -1;
    for (unsigned i = 0; i < known; i++) {
        if (strcmp(all[i].name, name) != 0) {
            ++*fronts;
            compare_front(&all[i], settings, list, count);
        }
        json_decref(all[i].settings);
    }
    return 0;
}

void front_differences_free(struct front_difference *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        free(list[i].here);
        free(list[i].there);
    }
    free(list);
}
