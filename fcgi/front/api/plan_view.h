/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans in the form of the API. The JSON values are new references. Sizes are limited by the plan
 * and by the largest host. */
#pragma once

#include <jansson.h>

#include "account/account.h"
#include "host/host.h"

json_t *plan_to_json(const struct plan *plan, const struct host_largest *largest);
json_t *plan_cpus_to_json(const struct plan *plan, const struct host_largest *largest);
uint32_t plan_memory_most(const struct plan *plan, const struct host_largest *largest);
json_t *plan_prices_to_json(const struct plan *plan);
