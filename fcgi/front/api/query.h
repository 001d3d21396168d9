/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read names, numbers and times from the query. When the parameter is absent, the value does not
 * change. Errors: ERR_INVALID_REQUEST with the parameter. */
#pragma once

#include <stdint.h>

#include "http/http.h"

int query_read_number(const struct http_request *request, const char *name, uint64_t least,
                      uint64_t most, uint64_t *value, struct error **err);
int query_read_time(const struct http_request *request, const char *name, int64_t *at_ms,
                    struct error **err);

/* Return a filter of names or ids, NULL without one. The database refuses to compare ASCII columns
 * with other text. So such a filter becomes "?", which no name or id contains. */
const char *query_name(const struct http_request *request, const char *name);
