/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons of one host with the database. */
#pragma once

#include "runtime/runtime.h"
#include "worker/worker.h"

/* Stop an instance that runs while its sandbox is paused. It was started by hand, or it came up
 * again after the monitor had found it down. Other instances stay. No operation of the sandbox
 * starts meanwhile (worker/hold.h). */
int sandbox_stop_unexpected(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                            const char *instance_name, struct error **err);

/* Compare the checkpoints of a host with the copies on it. */
int checkpoint_sweep_host(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                          struct error **err);
