/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/span.h"

#include "api/query.h"
#include "base/clock.h"

int span_read(const struct http_request *request, int64_t (*default_from)(int64_t to_ms),
              int64_t *from_ms, int64_t *to_ms, struct error **err)
{
    int64_t now_ms = clock_now_ms();
    *to_ms = now_ms;
    if (query_read_time(request, "to", to_ms, err) < 0)
        return -1;
    if (*to_ms > now_ms) /* the answer contains no future time */
        *to_ms = now_ms;
    *from_ms = default_from(*to_ms);
    if (query_read_time(request, "from", from_ms, err) < 0)
        return -1;
    if (*from_ms <= *to_ms)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "from",
                           "from must not be after to, or in the future.");
}
