/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "account/usage.h"
#include "account/usage_kept.h"
#include "account/usage_part.h"
#include "api/api.h"
#include "api/span.h"
#include "base/clock.h"
#include "base/json_make.h"
#include "base/mem.h"
#include "base/str.h"

/* Return midnight UTC of the first day of the month. */
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

/* Return a team's use of checkpoints or volumes. name: the member for their number. */
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
            storage_gb_ms += total_ms * row->resources.disk_gb;
            json_array_append_new(storage, json_pack("{s:I, s:I, s:o}", "disk_gb",
                                                     (json_int_t)row->resources.disk_gb,
                                                     "sandboxes", (json_int_t)row->sandboxes,
                                                     "seconds", seconds(total_ms)));
            continue;
        }
        runtime_ms += total_ms;
        vcpu_ms += total_ms * row->resources.cpu;
        memory_gb_ms += total_ms * row->resources.memory_mb / 1024;
        json_array_append_new(
            runtime, json_pack("{s:I, s:I, s:I, s:o}", "cpu", (json_int_t)row->resources.cpu,
                               "memory_mb", (json_int_t)row->resources.memory_mb, "sandboxes",
                               (json_int_t)row->sandboxes, "seconds", seconds(total_ms)));
    }
    return json_pack("{s:{s:o, s:o, s:o, s:o}, s:{s:o, s:o, s:o, s:o}}", "runtime", "seconds",
                     seconds(runtime_ms), "vcpu_seconds", seconds(vcpu_ms), "memory_gb_seconds",
                     seconds(memory_gb_ms), "sizes", runtime, "storage", "gb_seconds",
                     seconds(storage_gb_ms), "sizes", storage, "checkpoints",
                     kept_to_json("checkpoints", checkpoints), "volumes",
                     kept_to_json("volumes", volumes));
}

/* --- by sandbox or day --- */

static json_t *part_to_json(const struct usage_part *part)
{
    char day[CLOCK_ISO8601_SIZE];
    json_t *json =
        json_pack("{s:{s:o, s:o, s:o}, s:{s:o}}", "runtime", "seconds",
                  seconds((double)part->runtime_ms), "vcpu_seconds", seconds(part->vcpu_ms),
                  "memory_gb_seconds", seconds(part->memory_mb_ms / 1024), "storage", "gb_seconds",
                  seconds(part->storage_mb_ms / 1024));
    if (*part->id) {
        json_object_set_new(json, "id", json_string(part->id));
        json_object_set_new(json, "name", *part->name ? json_string(part->name) : json_null());
    } else
        json_object_set_new(json, "day", json_stringn(clock_format_iso8601(part->day_ms, day), 10));
    return json;
}

/* Read `by`; NULL without it: the total only. */
static int read_by(const struct http_request *request, int64_t from_ms, int64_t to_ms,
                   const char **by, struct error **err)
{
    *by = http_query(request, "by");
    if (!*by || str_equal(*by, "sandbox"))
        return 0;
    if (!str_equal(*by, "day"))
        return error_set_field(err, ERR_INVALID_REQUEST, "by", "by must be day or sandbox.");
    if (to_ms - from_ms > USAGE_DAYS_MAX * (int64_t)86400000)
        return error_set_field(err, ERR_INVALID_REQUEST, "from",
                               "With by=day, the span can have at most %d days.", USAGE_DAYS_MAX);
    return 0;
}

static int add_parts(struct api *api, const char *by, int64_t from_ms, int64_t to_ms, json_t *body,
                     struct error **err)
{
    autofree struct usage_part *parts = NULL;
    size_t count;
    struct db *db = api->worker.db;
    const char *team_id = api->access.team->id;
    if ((str_equal(by, "day")
             ? usage_read_days(db, team_id, from_ms, to_ms, &parts, &count, err)
             : usage_read_sources(db, team_id, from_ms, to_ms, &parts, &count, err)) < 0)
        return -1;
    json_t *rows = JSON_LIST(parts, count, part_to_json);
    json_object_set_new(body, "parts", rows);
    return 0;
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
    const char *by;
    char time[CLOCK_ISO8601_SIZE];
    if (span_read(request, month_start, &from_ms, &to_ms, err) < 0 ||
        read_by(request, from_ms, to_ms, &by, err) < 0 ||
        usage_read(api->worker.db, team->id, from_ms, to_ms, &rows, &count, err) < 0 ||
        usage_read_kept(api->worker.db, team->id, USAGE_CHECKPOINT, from_ms, to_ms, &checkpoints,
                        err) < 0 ||
        usage_read_kept(api->worker.db, team->id, USAGE_VOLUME, from_ms, to_ms, &volumes, err) < 0)
        return -1;
    json_auto_t *body = usage_to_json(rows, count, &checkpoints, &volumes);
    json_object_set_new(body, "team", json_string(team->slug));
    json_object_set_new(body, "from", json_string(clock_format_iso8601(from_ms, time)));
    json_object_set_new(body, "to", json_string(clock_format_iso8601(to_ms, time)));
    if (by && add_parts(api, by, from_ms, to_ms, body, err) < 0)
        return -1;
    return http_response_json(response, 200, json_incref(body));
}
