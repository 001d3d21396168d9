/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keeper of a host: made when it is first needed, made again when it is broken or old. */
#pragma once

#include "volume/keeper_client.h"
#include "worker/worker.h"

#define KEEPER_EPOCH_SIZE VOLUME_KEEPER_EPOCH_SIZE

/* A keeper that answers, with the name of its process's time. Errors: ERR_RUNTIME_UNAVAILABLE,
 * ERR_NO_CAPACITY. */
int keeper_ensure(struct worker *worker, uint32_t host_id, struct keeper *keeper,
                  char epoch[KEEPER_EPOCH_SIZE], struct error **err);

/* Mount a volume in it, or take it out. Errors: ERR_NOT_FOUND (the volume, or the keeper). */
int keeper_mount(struct worker *worker, const struct keeper *keeper, const struct volume *volume,
                 struct error **err);

/* None there: success. */
int keeper_unmount(struct worker *worker, uint32_t host_id, const char *volume_id,
                   struct error **err);

/* The dispatcher's share: take out of the keepers what nobody has used for a while. */
int keeper_tidy(struct worker *worker, uint32_t host_id, struct error **err);
