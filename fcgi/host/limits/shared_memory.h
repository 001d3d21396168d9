/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resize /dev/shm of a running instance to half of its memory. Instances that start get the same
 * from their configuration (drivers/runtime/runtime_confinement.c).
 */
#pragma once

#include "limits/group.h"
#include "limits/order.h"

/* Resize it, in at most most_ms. Does nothing when the guest has no tmpfs there. Errors:
 * ERR_NOT_FOUND (no such instance runs), ERR_RUNTIME_REFUSED. */
int shared_memory_size(const struct groups *groups, const struct order *order, unsigned most_ms,
                       struct error **err);
