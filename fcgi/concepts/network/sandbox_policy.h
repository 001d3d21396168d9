/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The policy of a sandbox as it is asked for and stored:
 *
 *   {"allow_internet_access": b, "allow_package_registry_access": b, "allow_out": […],
 *    "deny_out": […], "egress_profiles": […]}
 *
 * and the rules that it comes to.
 */
#pragma once

#include "db/db.h"
#include "network/egress_profile.h"
#include "network/policy.h"

/* What a sandbox reaches whose request says nothing: internet, registries or isolated. */
struct network_class {
    bool internet, registries;
};
struct network_class network_class_of(const char *name);

/* The names of the profiles that a stored policy includes, that of the package registries among
 * them; borrowed from it. Returns how many. */
size_t sandbox_policy_profiles(const json_t *stored, const char *names[EGRESS_PROFILES_MAX + 1]);

/* The rules of a stored policy, the entries of its profiles as they are now. The caller ends with
 * policy_deinit(). */
int sandbox_policy_compile(struct db *db, const char *stored, struct policy *policy,
                           struct error **err);
