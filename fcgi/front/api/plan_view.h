/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans as the interface shows them; both are new references. Sizes are those that the plan allows
 * and that some host could give. */
#pragma once

#include <jansson.h>

#include "account/account.h"
#include "host/host.h"

json_t *plan_to_json(const struct plan *plan, const struct host_largest *largest);
json_t *plan_cpus_to_json(const struct plan *plan, const struct host_largest *largest);
uint32_t plan_memory_most(const struct plan *plan, const struct host_largest *largest);
json_t *plan_prices_to_json(const struct plan *plan);
