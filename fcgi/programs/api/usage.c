/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "account/usage.h"
#include "account/usage_kept.h"
#include "api/api.h"
#include "api/span.h"
#include "base/clock.h"
#include "base/mem.h"

/* Midnight UTC of the first day of the month. */
static int64_t month_start(int64_t at_ms)
{
    time_t at = (time_t)(at_ms / 1000);
    struct tm day;
    gmtime_r(&at, &day);
    day.tm_mday = 1;
    day.tm_hour = day.tm_min = day.tm_sec = 0;
    return (int64_t)timegm(&day) * 1000;
}

static json_t *seconds(double total_ms)
{
    return json_real(total_ms / 1000);
}

/* What a team has kept beside its sandboxes, under the name of what it is. */
static json_t *kept_to_json(const char *name, const struct usage_total *kept)
{
    return json_pack("{s:I, s:o, s:o}", name, (json_int_t)kept->count, "seconds",
                     seconds((double)kept->total_ms), "gb_seconds", seconds(kept->mb_ms / 1024));
}

static json_t *usage_to_json(const struct usage *rows, size_t count,
                             const struct usage_total *checkpoints,
                             const struct usage_total *volumes)
{
    double runtime_ms = 0, vcpu_ms = 0, memory_gb_ms = 0;
    double storage_gb_ms = (checkpoints->mb_ms + volumes->mb_ms) / 1024;
    json_t *runtime = json_array(), *storage = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct usage *row = &rows[i];
        double total_ms = (double)row->total_ms;
        if (row->kind == USAGE_STORAGE) {
            storage_gb_ms += total_ms * row->shape.disk_gb;
            json_array_append_new(storage, json_pack("{s:I, s:I, s:o}", "disk_gb",
                                                     (json_int_t)row->shape.disk_gb, "sandboxes",
                                                     (json_int_t)row->sandboxes, "seconds",
                                                     seconds(total_ms)));
            continue;
        }
        runtime_ms += total_ms;
        vcpu_ms += total_ms * row->shape.cpu;
        memory_gb_ms += total_ms * row->shape.memory_mb / 1024;
        json_array_append_new(runtime,
                              json_pack("{s:I, s:I, s:I, s:o}", "cpu", (json_int_t)row->shape.cpu,
                                        "memory_mb", (json_int_t)row->shape.memory_mb, "sandboxes",
                                        (json_int_t)row->sandboxes, "seconds", seconds(total_ms)));
    }
    return json_pack("{s:{s:o, s:o, s:o, s:o}, s:{s:o, s:o, s:o, s:o}}", "runtime", "seconds",
                     seconds(runtime_ms), "vcpu_seconds", seconds(vcpu_ms), "memory_gb_seconds",
                     seconds(memory_gb_ms), "sizes", runtime, "storage", "gb_seconds",
                     seconds(storage_gb_ms), "sizes", storage, "checkpoints",
                     kept_to_json("checkpoints", checkpoints), "volumes",
                     kept_to_json("volumes", volumes));
}

int usage_show(void *context, struct http_request *request, struct http_response *response,
               struct error **err)
{
    struct api *api = context;
    const struct team *team = api->access.team;
    int64_t from_ms, to_ms;
    autofree struct usage *rows = NULL;
    struct usage_total checkpoints, volumes;
    size_t count;
    char time[CLOCK_ISO8601_SIZE];
    if (span_read(request, month_start, &from_ms, &to_ms, err) < 0 ||
        usage_read(api->worker.db, team->id, from_ms, to_ms, &rows, &count, err) < 0 ||
        usage_read_kept(api->worker.db, team->id, USAGE_CHECKPOINT, from_ms, to_ms, &checkpoints,
                        err) < 0 ||
        usage_read_kept(api->worker.db, team->id, USAGE_VOLUME, from_ms, to_ms, &volumes, err) < 0)
        return -1;
    json_t *body = usage_to_json(rows, count, &checkpoints, &volumes);
    json_object_set_new(body, "team", json_string(team->slug));
    json_object_set_new(body, "from", json_string(clock_format_iso8601(from_ms, time)));
    json_object_set_new(body, "to", json_string(clock_format_iso8601(to_ms, time)));
    return http_response_json(response, 200, body);
}
