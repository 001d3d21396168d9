/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parameters `from` and `to` of a request. */
#pragma once

#include <stdint.h>

#include "http/http.h"

/* Read both times. Without `to`, *to_ms is now; it is never later. Without `from`, *from_ms is
 * default_from(*to_ms). Errors: ERR_INVALID_REQUEST with the parameter. */
int span_read(const struct http_request *request, int64_t (*default_from)(int64_t to_ms),
              int64_t *from_ms, int64_t *to_ms, struct error **err);
