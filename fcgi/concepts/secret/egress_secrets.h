/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Egress rules and way out with the values of secrets, for the firewall of a host, and the
 * certificates of the rules' hosts. An authority of the deployment signs them; sandboxes trust it.
 * Its key is sealed with the key ring.
 */
#pragma once

#include "crypto/keyring.h"
#include "db/db.h"
#include "network/policy.h"

/* Check the secrets in the rules and the egress proxy of a policy: the team has them, and they may
 * be sent to these hosts. Check also that each host is closed without its rules, if the rules limit
 * something. Errors: ERR_INVALID_REQUEST with the member. */
int egress_rules_admit(struct db *db, const char *team_id, const json_t *stored,
                       struct error **err);

/* Inside a transaction: record which secrets the stored policy of a sandbox mentions. Errors:
 * ERR_INVALID_REQUEST (too many secrets). */
int egress_rules_follow(struct db *db, const char *team_id, const char *sandbox_id,
                        const char *network, bool is_new_sandbox, struct error **err);

/* Set policy->egress and policy->proxy from the stored policy of a sandbox of the team. A rule or a
 * proxy whose secret is gone, or no longer goes to the host, lets nothing pass. */
int egress_rules_compile(struct db *db, const struct keyring *ring, const char *team_id,
                         const char *network, struct policy *policy, struct error **err);
