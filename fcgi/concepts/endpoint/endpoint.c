/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "endpoint/endpoint.h"

#include "base/mem.h"

const struct endpoint endpoints[] = {
#define ENDPOINT(method, pattern, pool, ...) {method, pattern, pool},
#include "endpoint/e2b_endpoints.def"
#include "endpoint/endpoints.def"
#undef ENDPOINT
};
const size_t endpoint_count = ARRAY_SIZE(endpoints);
