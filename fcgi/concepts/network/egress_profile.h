/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Egress profiles: named lists of entries, each an allow. The operator keeps them, and policies
 * include them. A change of a profile changes the policy of every sandbox that includes it: the
 * same transaction increments their revisions, and a dispatcher applies them.
 */
#pragma once

#include <jansson.h>

#include "db/db.h"

#define EGRESS_PROFILE_REGISTRIES  "package-registries" /* for allow_package_registry_access */
#define EGRESS_PROFILE_NAME_MAX    63
#define EGRESS_PROFILE_ENTRIES_MAX 400
#define EGRESS_PROFILES_MAX        16 /* in one policy */

struct egress_profile {
    char name[EGRESS_PROFILE_NAME_MAX + 1];
    json_t *entries; /* array of strings, canonical */
    int64_t updated_at_ms;
    uint64_t sandboxes; /* sandboxes that include it, without deleted ones */
};
void egress_profile_deinit(struct egress_profile *profile);
void egress_profiles_free(struct egress_profile *profiles, size_t count);

/* Read a profile; the caller ends with egress_profile_deinit(). Errors: ERR_NOT_FOUND. */
int egress_profile_get(struct db *db, const char *name, struct egress_profile *profile,
                       struct error **err);
/* Read only the entries of a profile; a new reference. Errors: ERR_NOT_FOUND. */
int egress_profile_entries(struct db *db, const char *name, json_t **entries, struct error **err);
/* List all profiles by name; the caller ends with egress_profiles_free(). */
int egress_profile_list(struct db *db, struct egress_profile **profiles, size_t *count,
                        struct error **err);

/* Create the profile or replace its entries, after a check of each entry. *sandboxes: how many
 * sandboxes include it. Errors: ERR_INVALID_REQUEST naming the entry. */
int egress_profile_put(struct db *db, const char *name, const json_t *entries, uint64_t *sandboxes,
                       struct error **err);

/* Delete a profile. Errors: ERR_NOT_FOUND; ERR_INVALID_REQUEST while a sandbox includes it, and for
 * the profile of the package registries, which can only be emptied. */
int egress_profile_delete(struct db *db, const char *name, struct error **err);

/* Check that a profile of this name exists, for a request that includes it. Errors:
 * ERR_INVALID_REQUEST with the field and the names of the existing profiles. */
int egress_profile_require(struct db *db, const char *name, const char *field, struct error **err);

/* Inside a transaction: record which profiles the sandbox includes, replacing earlier records. They
 * are those of its stored policy, with the one of the package registries if the policy allows
 * these. */
int egress_profile_follow(struct db *db, const char *sandbox_id, const char *network,
                          bool is_new_sandbox, struct error **err);
