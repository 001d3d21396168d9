/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many sandboxes of a team ran at once, and how many started per second. The numbers are exact,
 * because they come from the records for billing. */
#include <stdlib.h>

#include "account/usage_part.h"
#include "api/e2b/e2b.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define SPAN_DEFAULT_MS ((int64_t)3600 * 1000)
#define SPAN_MAX_MS     ((int64_t)31 * 24 * 3600 * 1000)
#define POINTS          60
#define STEP_MIN_MS     5000

struct span {
    int64_t from_ms, to_ms, step_ms;
    struct usage_run *runs; /* owned */
    size_t count;
};

/* Values at the end of a part of the span. */
struct point {
    int64_t at_ms;
    unsigned running;
    double started_a_second;
};

/* Return whether a request without a team means this one. */
static bool is_default(const struct principal *principal, const struct team *team)
{
    return principal->team_count == 1 || str_equal(team->id, principal->personal_team_id);
}

/* Answer that this worker runs; nothing else is checked. */
int e2b_health_show(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    (void)context;
    (void)request;
    (void)err;
    response->content_type = "text/plain";
    buffer_append_string(&response->body, "Health check successful");
    return 0;
}

/* apiKey is empty: a key is shown only when it is created. */
int e2b_teams_list(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    const struct principal *principal = &((struct api *)context)->principal;
    json_t *list = json_array();
    (void)request;
    (void)err;
    for (unsigned i = 0; i < principal->team_count; i++) {
        const struct team *team = &principal->teams[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b}", "teamID", team->id, "name",
                                              team->slug, "apiKey", "", "isDefault",
                                              (int)is_default(principal, team)));
    }
    return http_response_json(response, 200, list);
}

static int find_team(const struct api *api, const char *name, const struct team **team,
                     struct error **err)
{
    const struct principal *principal = &api->principal;
    for (unsigned i = 0; i < principal->team_count; i++) {
        *team = &principal->teams[i];
        if (str_equal((*team)->id, name) || str_equal((*team)->slug, name))
            return 0;
    }
    return error_set(err, ERR_TEAM_FORBIDDEN, "This API key has no team with this name or id.");
}

static int read_times(const struct http_request *request, struct span *span, struct error **err)
{
    int64_t now_ms = clock_now_ms();
    span->to_ms = now_ms;
    if (e2b_read_second(request, "end", &span->to_ms, err) < 0)
        return -1;
    if (span->to_ms > now_ms)
        span->to_ms = now_ms;
    span->from_ms = span->to_ms - SPAN_DEFAULT_MS;
    if (e2b_read_second(request, "start", &span->from_ms, err) < 0)
        return -1;
    if (span->from_ms <= span->to_ms && span->to_ms - span->from_ms <= SPAN_MAX_MS)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "start",
                           "start must be before end, by at most 31 days.");
}

static int read_span(struct api *api, const struct http_request *request, struct span *span,
                     struct error **err)
{
    const struct team *team = NULL;
    if (find_team(api, request->captures[0], &team, err) < 0 ||
        read_times(request, span, err) < 0 ||
        usage_read_runs(api->worker.db, team->id, span->from_ms, span->to_ms, &span->runs,
                        &span->count, err) < 0)
        return -1;
    if (span->count == USAGE_RUNS_MAX)
        return error_set_field(
            err, ERR_INVALID_REQUEST, "start",
            "This time has more than %d runs of sandboxes; request a shorter time.",
            USAGE_RUNS_MAX);
    span->step_ms = (span->to_ms - span->from_ms) / POINTS;
    if (span->step_ms < STEP_MIN_MS)
        span->step_ms = STEP_MIN_MS;
    return 0;
}

static struct point point_at(const struct span *span, int64_t at_ms)
{
    struct point point = {.at_ms = at_ms};
    unsigned started = 0;
    for (size_t i = 0; i < span->count; i++) {
        const struct usage_run *run = &span->runs[i];
        bool goes_on = run->ended_at_ms > at_ms || run->ended_at_ms == span->to_ms;
        point.running += run->started_at_ms <= at_ms && goes_on;
        started += run->started_at_ms > at_ms - span->step_ms && run->started_at_ms <= at_ms &&
                   run->started_at_ms > span->from_ms;
    }
    point.started_a_second = started * 1000.0 / (double)span->step_ms;
    return point;
}

/* Move to the next part. Returns false after the last part, which ends with the span. */
static bool next_point(const struct span *span, struct point *point)
{
    if (point->at_ms == span->to_ms)
        return false;
    int64_t at_ms = (point->at_ms ? point->at_ms : span->from_ms) + span->step_ms;
    *point = point_at(span, at_ms < span->to_ms ? at_ms : span->to_ms);
    return true;
}

int e2b_team_metrics(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct span span = {.runs = NULL};
    struct point point = {.at_ms = 0};
    char time[CLOCK_ISO8601_SIZE];
    if (read_span(context, request, &span, err) < 0) {
        free(span.runs);
        return -1;
    }
    json_t *list = json_array();
    while (next_point(&span, &point))
        json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:f}", "timestamp",
                                              clock_format_iso8601(point.at_ms, time),
                                              "timestampUnix", (json_int_t)(point.at_ms / 1000),
                                              "concurrentSandboxes", (json_int_t)point.running,
                                              "sandboxStartRate", point.started_a_second));
    free(span.runs);
    return http_response_json(response, 200, list);
}

static int earlier(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Find the time with the most running sandboxes. It is the start of a run. The running ones are all
 * that have started, less those that have ended. */
static struct point most_running(const struct span *span)
{
    struct point most = {.at_ms = span->from_ms};
    autofree int64_t *ends = xcalloc(span->count + 1, sizeof *ends);
    size_t ended = 0;
    for (size_t i = 0; i < span->count; i++)
        ends[i] = span->runs[i].ended_at_ms;
    qsort(ends, span->count, sizeof *ends, earlier);
    for (size_t i = 0; i < span->count; i++) {
        int64_t at_ms = span->runs[i].started_at_ms;
        while (ends[ended] <= at_ms && ends[ended] < span->to_ms)
            ended++;
        if (i + 1 - ended > most.running)
            most = (struct point){.at_ms = at_ms, .running = (unsigned)(i + 1 - ended)};
    }
    return most;
}

static struct point most_started(const struct span *span)
{
    struct point point = {.at_ms = 0}, most = {.at_ms = span->from_ms};
    while (next_point(span, &point))
        if (point.started_a_second > most.started_a_second)
            most = point;
    return most;
}

int e2b_team_metrics_max(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    static const char *const concurrent = "concurrent_sandboxes", *const rate =
                                                                      "sandbox_start_rate";
    const char *metric = http_query(request, "metric");
    struct span span = {.runs = NULL};
    char time[CLOCK_ISO8601_SIZE];
    bool is_rate = str_equal(metric, rate);
    if (!is_rate && !str_equal(metric, concurrent))
        return error_set_field(err, ERR_INVALID_REQUEST, "metric", "metric must be %s or %s.",
                               concurrent, rate);
    if (read_span(context, request, &span, err) < 0) {
        free(span.runs);
        return -1;
    }
    struct point most = is_rate ? most_started(&span) : most_running(&span);
    free(span.runs);
    return http_response_json(response, 200,
                              json_pack("{s:s, s:I, s:f}", "timestamp",
                                        clock_format_iso8601(most.at_ms, time), "timestampUnix",
                                        (json_int_t)(most.at_ms / 1000), "value",
                                        is_rate ? most.started_a_second : (double)most.running));
}
