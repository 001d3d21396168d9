/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The span of time that a request's `from` and `to` name. */
#pragma once

#include <stdint.h>

#include "http/http.h"

/* to: now when absent, and never later; from: default_from(to) when absent. Errors:
 * ERR_INVALID_REQUEST with the parameter. */
int span_read(const struct http_request *request, int64_t (*default_from)(int64_t to_ms),
              int64_t *from_ms, int64_t *to_ms, struct error **err);
