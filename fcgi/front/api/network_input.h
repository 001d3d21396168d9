/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The network policy in the body of a create or a PUT. */
#pragma once

#include "api/api.h"
#include "api/proxy_password.h"
#include "network/egress_profile.h"
#include "network/egress_proxy.h"
#include "network/egress_rule.h"
#include "network/sandbox_policy.h"

extern const struct schema_member network_entry_item, network_profile_item;

/* Rows of a schema. */
#define NETWORK_MEMBERS                                                              \
    {.name = "allow_internet_access", .type = SCHEMA_BOOLEAN},                       \
        {.name = SANDBOX_POLICY_ASK, .type = SCHEMA_BOOLEAN},                        \
        {.name = "allow_package_registry_access", .type = SCHEMA_BOOLEAN},           \
        {.name = "allow_out",                                                        \
         .type = SCHEMA_ARRAY,                                                       \
         .max = NETWORK_ENTRIES_MAX,                                                 \
         .item = &network_entry_item},                                               \
        {.name = "deny_out",                                                         \
         .type = SCHEMA_ARRAY,                                                       \
         .max = NETWORK_ENTRIES_MAX,                                                 \
         .item = &network_entry_item},                                               \
        {.name = "egress_profile",                                                   \
         .type = SCHEMA_STRING,                                                      \
         .min = 1,                                                                   \
         .max = EGRESS_PROFILE_NAME_MAX},                                            \
        {.name = "rules",                                                            \
         .type = SCHEMA_ARRAY,                                                       \
         .max = EGRESS_RULES_MAX,                                                    \
         .item = &egress_rule_item},                                                 \
        {.name = EGRESS_PROXY,                                                       \
         .type = SCHEMA_OBJECT,                                                      \
         .nullable = true,                                                           \
         .members = egress_proxy_members},                                           \
    {                                                                                \
        .name = "egress_profiles", .type = SCHEMA_ARRAY, .max = EGRESS_PROFILES_MAX, \
        .item = &network_profile_item                                                \
    }

/* Members of PUT /v1/sandboxes/:id/network and of POST …/network/check. */
extern const struct schema_member network_put_schema[];
extern const struct schema_member network_check_schema[];

/* Return the policy to store. Missing members get the values of the deployment's network class.
 * body has passed its schema; NULL counts as {}. password: stored when the rest of the policy is
 * valid; NULL, or without a value: none. The caller frees *network. Errors: ERR_INVALID_REQUEST
 * with the field. */
int network_input_read(struct api *api, const json_t *body, const struct proxy_password *password,
                       char **network, struct error **err);
