/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Change the size and volumes of a warm instance without waiting for Incus.
 *
 * The host sets the limits and mounts together with the network policy (base/sizing.h). The
 * create's transaction records that Incus is still to be updated. A dispatcher updates Incus when
 * no create is running. A pause, a resume or a checkpoint before that does it itself, because Incus
 * then acts by its own records. The process that updates Incus holds the row by a lease, so a
 * delayed update cannot overwrite a newer one.
 */
#pragma once

#include "db/db.h"
#include "worker/worker.h"

/* Inside the transaction that inserts the sandbox: record that Incus is to be updated. */
int sandbox_size_owe(struct db *db, const char *sandbox_id, struct error **err);
/* Delete the record. Success also without a record. */
int sandbox_size_forget(struct db *db, const char *sandbox_id, struct error **err);

/* For a lifecycle move that is about to begin: hold the record of the sandbox for lease_s.
 *
 * *found: there is a record. *held: it is ours; else another process updates Incus at this
 * moment. */
int sandbox_size_hold(struct db *db, const char *sandbox_id, const char *owner, uint64_t lease_s,
                      bool *found, bool *held, struct error **err);

/* Update Incus for one sandbox that is due. *worked: there was one. */
int sandbox_size_next(struct worker *worker, bool *worked, struct error **err);

/* Count the running sandboxes that should have been updated in Incus by now. */
int sandbox_size_overdue(struct db *db, uint64_t *count, struct error **err);
