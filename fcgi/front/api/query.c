/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/query.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/str.h"

int query_read_number(const struct http_request *request, const char *name, uint64_t least,
                      uint64_t most, uint64_t *value, struct error **err)
{
    const char *text = http_query(request, name);
    if (!text || str_parse_u64(text, least, most, value) == 0)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, name,
                           "%s must be a number from %" PRIu64 " to %" PRIu64 ".", name, least,
                           most);
}

int query_read_time(const struct http_request *request, const char *name, int64_t *at_ms,
                    struct error **err)
{
    const char *text = http_query(request, name);
    if (!text || clock_parse_iso8601(text, at_ms) == 0)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, name,
                           "%s must be a time, such as 2027-01-31T12:00:00Z.", name);
}

const char *query_name(const struct http_request *request, const char *name)
{
    const char *text = http_query(request, name);
    for (const char *at = text; at && *at; at++)
        if (*at & 0x80)
            return "?";
    return text;
}
