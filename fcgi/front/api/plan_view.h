/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans as the interface shows them; both are new references. */
#pragma once

#include <jansson.h>

#include "account/account.h"

json_t *plan_to_json(const struct plan *plan);
json_t *plan_prices_to_json(const struct plan *plan);
