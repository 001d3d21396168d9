/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "api/api.h"
#include "api/query.h"
#include "api/sandbox_output.h"
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

static json_t *points_to_json(const struct sample_point *points, size_t count)
{
    json_t *list = JSON_LIST(points, count, point_to_json);
    return list;
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
    return http_response_json(
        response, 200,
        json_pack("{s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:o}", "sandbox", sandbox->id, "from",
                  clock_format_iso8601(from_ms, from), "to", clock_format_iso8601(to_ms, to),
                  "step_s", step_ms ? json_integer(step_ms / 1000) : json_null(), "cpu",
                  (json_int_t)sandbox->resources.cpu, "memory_mb",
                  (json_int_t)sandbox->resources.memory_mb, "disk_gb",
                  (json_int_t)sandbox->resources.disk_gb, "points", points_to_json(points, count)));
}

/* --- the last samples of several sandboxes --- */

/* The age limit of a sample that counts as the last one, in intervals. */
#define INTERVALS_LATEST 3

static int read_ids(const struct http_request *request, json_t *list, struct error **err)
{
    const char *given = http_query(request, "ids");
    autofree char *copy = xstrdup(given ? given : "");
    char *rest = copy;
    for (char *id; (id = strsep(&rest, ","));) {
        if (!id_is_valid("sbx_", id) || json_array_size(list) >= SAMPLE_LATEST_MAX)
            return error_set_field(err, ERR_INVALID_REQUEST, "ids",
                                   "ids must be 1 to %d ids of sandboxes, separated by commas.",
                                   SAMPLE_LATEST_MAX);
        json_array_append_new(list, json_string(id));
    }
    return 0;
}

static json_t *latest_to_json(const struct sample_latest *latest)
{
    json_t *json = point_to_json(&latest->point);
    json_object_set_new(json, "sandbox", json_string(latest->sandbox_id));
    return json;
}

int metrics_list(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    struct sample_latest latest[SAMPLE_LATEST_MAX];
    int64_t span_ms = (int64_t)api->settings->metrics_interval_s * INTERVALS_LATEST * 1000;
    unsigned count;
    json_auto_t *ids = json_array();
    if (read_ids(request, ids, err) < 0)
        return -1;
    autofree char *text = json_dumps(ids, JSON_COMPACT);
    if (sample_read_latest(api->worker.db, api->access.team->id, text, clock_now_ms() - span_ms,
                           latest, &count, err) < 0)
        return -1;
    json_t *items = JSON_LIST(latest, count, latest_to_json);
    return http_response_json(response, 200, json_pack("{s:o}", "items", items));
}

/* --- the sums of a host or a team, for operators --- */

static int read_subject(struct db *db, const struct http_request *request, char id[ID_SIZE],
                        struct error **err)
{
    struct host host;
    struct team team;
    bool of_host, of_team;
    if (query_read_team(db, request, &of_team, &team, err) < 0 ||
        query_read_host(db, request, &of_host, &host, err) < 0)
        return -1;
    if (of_host)
        sample_host_id(host.id, id);
    else if (of_team)
        memcpy(id, team.id, sizeof team.id);
    if (of_host)
        host_deinit(&host);
    if (of_host == of_team)
        return error_set_field(err, ERR_INVALID_REQUEST, "host", "Give either a host or a team.");
    return 0;
}

int operator_metrics(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    autofree struct sample_point *points = NULL;
    size_t count;
    int64_t from_ms, to_ms, step_ms;
    char id[ID_SIZE];
    if (read_subject(api->worker.db, request, id, err) < 0 ||
        span_read(request, hour_before, &from_ms, &to_ms, err) < 0 ||
        sample_read(api->worker.db, id, from_ms, to_ms, &points, &count, &step_ms, err) < 0)
        return -1;
    return http_response_json(response, 200,
                              json_pack("{s:o, s:o, s:o, s:o}", "from", time_to_json(from_ms), "to",
                                        time_to_json(to_ms), "step_s",
                                        step_ms ? json_integer(step_ms / 1000) : json_null(),
                                        "points", points_to_json(points, count)));
}
