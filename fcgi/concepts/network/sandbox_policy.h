/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The policy of a sandbox as requests have it and as it is stored:
 *
 *   {"allow_internet_access": b, "allow_package_registry_access": b, "allow_out": […],
 *    "deny_out": […], "egress_profiles": […], "ask": b, "rules": […], "egress_proxy": {…}}
 *
 * sandbox_policy_compile() makes the policy from it, without its egress rules ("rules", see
 * egress_rule.h) and its way out (egress_proxy.h).
 */
#pragma once

#include "db/db.h"
#include "network/egress_profile.h"
#include "network/policy.h"

/* Absent: it does not ask. Never together with allow_internet_access. */
#define SANDBOX_POLICY_ASK "ask"

/* The access of a sandbox whose request has no policy: internet, registries or isolated. */
struct network_class {
    bool internet, registries;
};
struct network_class network_class_of(const char *name);

/* Find the names of the profiles that a stored policy includes, with the one of the package
 * registries. The names are borrowed from stored. Returns how many. */
size_t sandbox_policy_profiles(const json_t *stored, const char *names[EGRESS_PROFILES_MAX + 1]);

/* Make the rules of a stored policy, with the present entries of its profiles. The caller ends with
 * policy_deinit(). Errors: ERR_INTERNAL (the stored policy is damaged), ERR_NOT_FOUND (a profile is
 * gone), those of the database. */
int sandbox_policy_compile(struct db *db, const char *stored, struct policy *policy,
                           struct error **err);
