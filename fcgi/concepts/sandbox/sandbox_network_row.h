/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows for sandbox_network*.c. */
#pragma once

#include "db/lease.h"
#include "sandbox/sandbox.h"

/* Inside a transaction that holds the sandbox's row: write network, network_revision,
 * network_applied, network_due_at_ms and allow_public_traffic. */
int network_row_update(struct db *db, const struct sandbox *sandbox, struct error **err);

/* Record that the firewall has the policy in sandbox. No effect when the desired policy has changed
 * since. */
int network_row_applied(struct db *db, const struct sandbox *sandbox, struct error **err);

/* Record that the firewall did not take this revision. reason: a sentence for the owner, of at most
 * NETWORK_REASON_MAX bytes. No effect when the desired policy has changed since. */
#define NETWORK_REASON_MAX 500
int network_row_failed(struct db *db, const char *sandbox_id, uint64_t revision, const char *reason,
                       struct error **err);

/* Check without locks whether a policy or an orphan is due. */
int network_row_any_due(struct db *db, bool *any, struct error **err);

/* Inside a transaction: take one sandbox whose policy is due. It is due again in lease_ms, so that
 * it is not lost if this process dies. id "": none. */
int network_row_take_due(struct db *db, uint64_t lease_ms, char id[LEASE_KEY_SIZE],
                         struct error **err);

/* Make the policy of a sandbox due again in delay_ms, if it still is. */
int network_row_defer(struct db *db, const char *sandbox_id, uint64_t delay_ms, struct error **err);

/* Postpone everything that is due on a host whose firewall cannot be reached. */
int network_row_defer_host(struct db *db, uint32_t host_id, int64_t due_at_ms, struct error **err);

/* --- addresses of sandboxes that are gone --- */

struct orphan {
    uint32_t host_id, address; /* host_id 0: none */
    char sandbox_id[ID_SIZE];
};

/* Inside a transaction: handle addresses at which the policy of a deleted sandbox may still be.
 * The function quarantine records an address. The function take_orphan takes a record, and makes it
 * due again at again_at_ms. The function orphan_gone deletes the record. */
int network_row_quarantine(struct db *db, const struct sandbox *sandbox, struct error **err);
int network_row_take_orphan(struct db *db, int64_t again_at_ms, struct orphan *orphan,
                            struct error **err);
int network_row_orphan_gone(struct db *db, const struct orphan *orphan, struct error **err);

/* --- comparing --- */

struct network_desired {
    char id[ID_SIZE];
    uint32_t address;
    uint64_t revision, applied;
    char team_id[ID_SIZE], user_id[ID_SIZE]; /* the user: who created it */
    uint64_t denials_told;
};
/* List the sandboxes of a host that hold runtime capacity, by address. The caller frees. */
int network_row_desired(struct db *db, uint32_t host_id, struct network_desired **desired,
                        size_t *count, struct error **err);

/* Record that the firewall does not have the policy of the row: it is due, unless the row has
 * changed since. The new revision is at least `above` + 1, so that it is newer than the
 * firewall's. */
int network_row_lost(struct db *db, const struct network_desired *desired, uint64_t above,
                     struct error **err);

/* Check whether the sandbox holds this address of the host, and is not destroyed. */
int network_row_holds(struct db *db, uint32_t host_id, uint32_t address, const char *sandbox_id,
                      bool *holds, struct error **err);

/* Call add with the address range of each host. */
int network_row_ranges(struct db *db,
                       int (*add)(void *context, const char *range, struct error **err),
                       void *context, struct error **err);
