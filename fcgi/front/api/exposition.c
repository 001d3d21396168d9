/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/exposition.h"

#include "base/counters.h"
#include "base/log.h"
#include "base/str.h"
#include "metrics/gauges.h"

#define EXPOSITION_MAX (4u << 20) /* bytes */

bool exposition_is_asked(const struct http_request *request)
{
    return str_equal(http_parameter(request, "SANDLOT_METRICS"), "1");
}

/* Append all gauges, or no gauge after an error; then the state of the database. */
static void append_gauges(struct db *db, struct buffer *out)
{
    buffer_auto gauges = BUFFER_INIT(EXPOSITION_MAX);
    error_auto err = NULL;
    bool up = gauges_format(db, &gauges, &err) == 0 && !buffer_overflowed(&gauges);
    if (up)
        buffer_append(out, gauges.data, gauges.size);
    else
        log_warning("cannot read the database; /metrics lacks its gauges", LOG_ERROR(err));
    buffer_printf(out,
                  "# TYPE sandlot_database_up gauge\n"
                  "# HELP sandlot_database_up Whether the database answered.\n"
                  "sandlot_database_up %d\n",
                  up);
}

void exposition_serve(struct api *api, struct http_request *request, struct http_response *response)
{
    request->operation = "metrics";
    buffer_init(&response->body, EXPOSITION_MAX);
    counters_format(&response->body);
    append_gauges(api->worker.db, &response->body);
    buffer_printf(&response->body,
                  "# TYPE sandlot_build info\n# HELP sandlot_build The release that answers.\n"
                  "sandlot_build_info{version=\"%s\"} 1\n# EOF\n",
                  PACKAGE_VERSION);
    response->content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
}
