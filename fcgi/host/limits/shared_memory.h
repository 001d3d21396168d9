/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /dev/shm of an instance that gets another size while it runs: half of its memory, as in the
 * configuration of an instance that starts (drivers/runtime/runtime_confinement.c).
 */
#pragma once

#include "limits/group.h"
#include "limits/order.h"

/* A guest that has no tmpfs there is left alone. Takes most_ms at most. Errors: ERR_NOT_FOUND (no
 * such instance runs), ERR_RUNTIME_REFUSED. */
int shared_memory_size(const struct groups *groups, const struct order *order, unsigned most_ms,
                       struct error **err);
