/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Egress profiles: named lists of entries that the operator keeps and policies include, each entry
 * an allow. Changing one changes the policy of every sandbox that includes it: their revisions are
 * counted up in the same transaction, and a dispatcher applies them.
 */
#pragma once

#include <jansson.h>

#include "db/db.h"

#define EGRESS_PROFILE_REGISTRIES  "package-registries" /* of allow_package_registry_access */
#define EGRESS_PROFILE_NAME_MAX    63
#define EGRESS_PROFILE_ENTRIES_MAX 400
#define EGRESS_PROFILES_MAX        16 /* in one policy */

struct egress_profile {
    char name[EGRESS_PROFILE_NAME_MAX + 1];
    json_t *entries; /* array of strings, canonical */
    int64_t updated_at_ms;
    uint64_t sandboxes; /* not deleted, that include it */
};
void egress_profile_deinit(struct egress_profile *profile);
void egress_profiles_free(struct egress_profile *profiles, size_t count);

/* Errors: ERR_NOT_FOUND. */
int egress_profile_get(struct db *db, const char *name, struct egress_profile *profile,
                       struct error **err);
/* What it allows alone; a new reference. Errors: ERR_NOT_FOUND. */
int egress_profile_entries(struct db *db, const char *name, json_t **entries, struct error **err);
/* All, by name; for egress_profiles_free(). */
int egress_profile_list(struct db *db, struct egress_profile **profiles, size_t *count,
                        struct error **err);

/* Make the profile or replace its entries, which are checked. *sandboxes: how many follow. Errors:
 * ERR_INVALID_REQUEST naming the entry. */
int egress_profile_put(struct db *db, const char *name, const json_t *entries, uint64_t *sandboxes,
                       struct error **err);

/* Errors: ERR_NOT_FOUND; ERR_INVALID_REQUEST while a sandbox includes it, and for the profile of
 * the package registries, which can only be emptied. */
int egress_profile_delete(struct db *db, const char *name, struct error **err);

/* Whether there is such a profile, by its name alone; for a request that names it. Errors:
 * ERR_INVALID_REQUEST with the field and the names that there are. */
int egress_profile_require(struct db *db, const char *name, const char *field, struct error **err);

/* Inside a transaction: the sandbox includes these profiles (JSON array of names, and the one of
 * the package registries if asked for), and no others. */
int egress_profile_follow(struct db *db, const char *sandbox_id, const char *network,
                          bool is_new_sandbox, struct error **err);
