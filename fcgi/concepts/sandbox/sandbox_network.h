/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The network policy of a sandbox, from its row to the firewall of its host.
 *
 * The row holds the desired policy, with a revision that each change counts up, and the revision
 * that the firewall is known to have. Whoever changes it tries to apply it at once; what does not
 * work out is due for a dispatcher. The firewall takes no older revision than the one it has, so
 * the last change wins however the attempts cross. A sandbox whose firewall has no policy for it
 * reaches nothing.
 */
#pragma once

#include "sandbox/lifecycle.h"

struct sandbox_network_change {
    const char *network; /* JSON object: the policy; borrowed */
    bool set_public_traffic;
    bool allow_public_traffic;
};

/* Replace the policy and apply it if the sandbox runs; *sandbox is the row afterwards, see
 * sandbox_network_status(). A stopped one gets it before its first packet after the resume. */
int sandbox_network_put(struct worker *worker, const char *id,
                        const struct sandbox_network_change *change, struct sandbox *sandbox,
                        struct error **err);

/* Wait until nginx has forgotten the answers of the gate, which takes about a second, and end the
 * connections from outside to a port of a running sandbox; port 0: to all ports but the agent's.
 * Previews of other ports that go through the agent's relay end, too. Logs a failure. */
void sandbox_end_previews(struct worker *worker, const char *id, uint16_t port);

/* What the host's firewall refused lately to a running sandbox, newest first: see
 * firewall_denials(). Nothing for one that does not run. */
int sandbox_network_denials(struct worker *worker, const struct sandbox *sandbox, json_t **denials,
                            struct error **err);

/* What no sandbox reaches: what the settings leave protected, and every host's range. */
struct protected_networks;
int sandbox_network_protected(struct worker *worker, struct protected_networks *networks,
                              struct error **err);

/* --- the dispatcher's share --- */

/* Apply one policy that is due, or have one removed whose sandbox is gone. *worked: there was
 * one. */
int sandbox_network_next(struct worker *worker, bool *worked, struct error **err);

/* Compare what the firewalls have with the rows, and make due what differs: a firewall that was
 * started anew is filled again. A comparison changes nothing that is right, so any number of
 * dispatchers may do it. */
int sandbox_network_reconcile(struct worker *worker, struct error **err);
