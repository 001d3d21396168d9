/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"
#include "api/span.h"
#include "base/clock.h"
#include "base/mem.h"
#include "metrics/sample.h"

#define SPAN_DEFAULT_MS (3600 * 1000)

static int64_t hour_before(int64_t to_ms)
{
    return to_ms - SPAN_DEFAULT_MS;
}

static json_t *number_or_null(bool known, double value)
{
    return known ? json_real(value) : json_null();
}

static json_t *point_to_json(const struct sample_point *point)
{
    char time[CLOCK_ISO8601_SIZE];
    return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:o}", "at",
                     clock_format_iso8601(point->at_ms, time), "vcpus_used",
                     number_or_null(point->has_cpu, point->vcpus), "vcpus_used_max",
                     number_or_null(point->has_cpu, point->vcpus_max), "memory_used_bytes",
                     (json_int_t)point->memory_bytes, "memory_used_bytes_max",
                     (json_int_t)point->memory_bytes_max, "memory_cache_bytes",
                     (json_int_t)point->cache_bytes, "disk_used_bytes",
                     point->has_disk ? json_integer((json_int_t)point->disk_bytes) : json_null());
}

int metrics_show(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    const struct sandbox *sandbox = &api->access.sandbox;
    autofree struct sample_point *points = NULL;
    size_t count;
    int64_t from_ms, to_ms, step_ms;
    char from[CLOCK_ISO8601_SIZE], to[CLOCK_ISO8601_SIZE];
    if (span_read(request, hour_before, &from_ms, &to_ms, err) < 0 ||
        sample_want(api->worker.db, sandbox->id, err) < 0 ||
        sample_read(api->worker.db, sandbox->id, from_ms, to_ms, &points, &count, &step_ms, err) <
            0)
        return -1;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, point_to_json(&points[i]));
    return http_response_json(response, 200,
                              json_pack("{s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:o}", "sandbox",
                                        sandbox->id, "from", clock_format_iso8601(from_ms, from),
                                        "to", clock_format_iso8601(to_ms, to), "step_s",
                                        step_ms ? json_integer(step_ms / 1000) : json_null(), "cpu",
                                        (json_int_t)sandbox->resources.cpu, "memory_mb",
                                        (json_int_t)sandbox->resources.memory_mb, "disk_gb",
                                        (json_int_t)sandbox->resources.disk_gb, "points", list));
}
