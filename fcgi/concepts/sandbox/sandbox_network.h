/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The network policy of a sandbox, from its row to the firewall of its host.
 *
 * The row holds the desired policy, a revision that each change increments, and the revision that
 * the firewall is known to have. A change is applied at once; if that fails, it is due for a
 * dispatcher. The firewall refuses revisions older than its own, so the last change wins in any
 * order of attempts. A sandbox whose firewall has no policy for it reaches nothing.
 */
#pragma once

#include "approval/approval.h"
#include "sandbox/lifecycle.h"

struct sandbox_network_change {
    const char *network; /* JSON object: the policy; borrowed; NULL: edit makes it */
    /* Called in the transaction, with the sandbox's row locked: make a policy, a JSON object, from
     * the present one. The caller frees it. */
    int (*edit)(struct db *db, void *context, const struct sandbox *sandbox, char **network,
                struct error **err);
    void *context;
    bool set_public_traffic;
    bool allow_public_traffic;
};

/* Replace the policy and apply it if the sandbox runs. *sandbox is the row afterwards, see
 * sandbox_network_status(). A paused sandbox gets the policy before its first packet after the
 * resume. The end of public traffic ends the open previews. */
int sandbox_network_put(struct worker *worker, const char *id,
                        const struct sandbox_network_change *change, struct sandbox *sandbox,
                        struct error **err);

/* Wait about a second, until nginx has forgotten the answers of the gate. Then end the connections
 * from outside to a port of a running sandbox. port 0: to all ports except the agent's. Previews of
 * other ports that go through the agent's relay end, too. Logs a failure. */
void sandbox_end_previews(struct worker *worker, const char *id, uint16_t port);
/* Wait until nginx has forgotten the answers of the gate. */
void sandbox_wait_for_gate(void);
/* Return whether a sandbox in this state may have connections. It does while it pauses: the hook
 * before a pause runs with the network. */
bool sandbox_has_packets(enum sandbox_state state);

/* End all connections from outside to a running sandbox, also those to its agent. The host does it,
 * so the programs of the sandbox cannot keep one. *ended false: the host has no firewall. Errors:
 * those of the host's firewall. */
int sandbox_end_connections(struct worker *worker, const struct sandbox *sandbox, bool *ended,
                            struct error **err);

/* List the recent denials of a running sandbox by the host's firewall, newest first: see
 * firewall_denials(). The list is empty for a sandbox that does not run. */
int sandbox_network_denials(struct worker *worker, const struct sandbox *sandbox, json_t **denials,
                            struct error **err);

/* Collect the networks that no sandbox reaches: those that the settings protect, and every host's
 * range. */
struct protected_networks;
int sandbox_network_protected(struct worker *worker, struct protected_networks *networks,
                              struct error **err);

/* Answer a request of a sandbox for a destination: change its policy, or allow the destination for
 * some time. Apply the answer if the sandbox runs. minutes: for APPROVAL_MINUTES. *approval: as it
 * was answered. Errors: ERR_NOT_FOUND; ERR_INVALID_REQUEST (the list of entries is full). */
struct sandbox_approval {
    const char *id;
    enum approval_answer answer;
    unsigned minutes;
    struct approval approval;
};
int sandbox_network_approve(struct worker *worker, const char *id, struct sandbox_approval *answer,
                            struct sandbox *sandbox, struct error **err);

/* --- for the dispatcher --- */

/* Apply one policy that is due, or remove the policy of a sandbox that is gone. *worked: there was
 * one. */
int sandbox_network_next(struct worker *worker, bool *worked, struct error **err);

/* Compare the policies of the firewalls with the rows, and mark differences as due: a restarted
 * firewall gets its policies back. The comparison changes nothing that is right, so several
 * dispatchers may do it at once. */
int sandbox_network_reconcile(struct worker *worker, struct error **err);
