/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sandbox_network*.c reads and writes of rows. */
#pragma once

#include "db/lease.h"
#include "sandbox/sandbox.h"

/* Inside a transaction that holds the sandbox's row: write network, network_revision,
 * network_applied, network_due_at_ms and allow_public_traffic. */
int network_row_update(struct db *db, const struct sandbox *sandbox, struct error **err);

/* The firewall has the policy that was read, which is told. No effect when the desired policy has
 * changed since. */
int network_row_applied(struct db *db, const struct sandbox *sandbox, struct error **err);

/* The firewall did not take this revision; reason: a sentence for its owner, of at most
 * NETWORK_REASON_MAX bytes. No effect when the desired policy has changed since. */
#define NETWORK_REASON_MAX 500
int network_row_failed(struct db *db, const char *sandbox_id, uint64_t revision, const char *reason,
                       struct error **err);

/* A look without locks: is there a policy or a orphan that is due? */
int network_row_any_due(struct db *db, bool *any, struct error **err);

/* Inside a transaction: one sandbox whose policy is due; it is due again in lease_ms, so that
 * nothing is lost if we are. id "": none. */
int network_row_take_due(struct db *db, uint64_t lease_ms, char id[LEASE_KEY_SIZE],
                         struct error **err);

/* The policy of a sandbox is due again in delay_ms, if it still is. */
int network_row_defer(struct db *db, const char *sandbox_id, uint64_t delay_ms, struct error **err);

/* The firewall of the host is away: everything due on it waits until then. */
int network_row_defer_host(struct db *db, uint32_t host_id, int64_t due_at_ms, struct error **err);

/* --- addresses of sandboxes that are gone --- */

struct orphan {
    uint32_t host_id, address; /* host_id 0: none */
    char sandbox_id[ID_SIZE];
};

/* Inside a transaction: the policy of a deleted sandbox may still stand at its address. */
int network_row_quarantine(struct db *db, const struct sandbox *sandbox, struct error **err);
int network_row_take_orphan(struct db *db, int64_t again_at_ms, struct orphan *orphan,
                            struct error **err);
int network_row_orphan_gone(struct db *db, const struct orphan *orphan, struct error **err);

/* --- comparing --- */

struct network_desired {
    char id[ID_SIZE];
    uint32_t address;
    uint64_t revision, applied;
    char team_id[ID_SIZE];
    uint64_t denials_told;
};
/* The sandboxes of a host that hold runtime capacity, by address. The caller frees. */
int network_row_desired(struct db *db, uint32_t host_id, struct network_desired **desired,
                        size_t *count, struct error **err);

/* The firewall does not have what the row says: it is due, unless the row has changed since. A
 * firewall that is ahead of the row is overtaken: the revision becomes at least `above` + 1. */
int network_row_lost(struct db *db, const struct network_desired *desired, uint64_t above,
                     struct error **err);

/* Whether a sandbox that is not destroyed holds this address of the host. */
int network_row_holds(struct db *db, uint32_t host_id, uint32_t address, const char *sandbox_id,
                      bool *holds, struct error **err);

/* The address ranges of all hosts: calls add for each. */
int network_row_ranges(struct db *db,
                       int (*add)(void *context, const char *range, struct error **err),
                       void *context, struct error **err);
