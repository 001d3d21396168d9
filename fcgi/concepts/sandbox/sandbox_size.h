/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A waiting instance is handed over in another size than it was made in, and with volumes, without
 * a word to Incus: its host sets the limits and mounts them beside the network policy
 * (base/sizing.h). The create's transaction records that Incus is still to be told. A dispatcher
 * tells it when no create is under way; a pause, a resume or a checkpoint before that tells it
 * itself, as Incus acts by its own records then. Who tells holds the row by a lease, so that no
 * late word follows what came after it.
 */
#pragma once

#include "db/db.h"
#include "worker/worker.h"

/* Inside the transaction that inserts the sandbox. */
int sandbox_size_owe(struct db *db, const char *sandbox_id, struct error **err);
/* Incus knows, or need not: none recorded is success. */
int sandbox_size_forget(struct db *db, const char *sandbox_id, struct error **err);

/* For a lifecycle move that is about to begin: hold the record of the sandbox for lease_s. *found:
 * there is one. *held: it is ours; else somebody tells Incus at this moment. */
int sandbox_size_hold(struct db *db, const char *sandbox_id, const char *owner, uint64_t lease_s,
                      bool *found, bool *held, struct error **err);

/* Tell Incus of one that is due. *worked: there was one. */
int sandbox_size_next(struct worker *worker, bool *worked, struct error **err);

/* Of how many that run Incus should have been told by now. */
int sandbox_size_overdue(struct db *db, uint64_t *count, struct error **err);
