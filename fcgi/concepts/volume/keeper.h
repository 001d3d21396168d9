/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The volume server of a host: created when it is first needed, and replaced when it is broken or
 * old. */
#pragma once

#include "volume/keeper_client.h"
#include "worker/worker.h"

#define KEEPER_EPOCH_SIZE VOLUME_KEEPER_EPOCH_SIZE

/* Return a volume server that answers, and the epoch of its process, which changes with each start.
 * Errors: ERR_RUNTIME_UNAVAILABLE, ERR_NO_CAPACITY. */
int keeper_ensure(struct worker *worker, uint32_t host_id, struct keeper *keeper,
                  char epoch[KEEPER_EPOCH_SIZE], struct error **err);

/* Mount a volume in the volume server. Errors: ERR_NOT_FOUND (the volume, or the volume server). */
int keeper_mount(struct worker *worker, const struct keeper *keeper, const struct volume *volume,
                 struct error **err);

/* Unmount a volume. Success also without a volume server. */
int keeper_unmount(struct worker *worker, uint32_t host_id, const char *volume_id,
                   struct error **err);

/* For the dispatcher: unmount volumes that were not used for a while. */
int keeper_tidy(struct worker *worker, uint32_t host_id, struct error **err);
