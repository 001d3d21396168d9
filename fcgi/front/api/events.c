/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of a team, as a list with a cursor. This worker checks a request that must wait for
 * events, and nginx passes it to sandlot-events. So no worker waits. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/query.h"
#include "base/clock.h"
#include "base/media_type.h"
#include "base/mem.h"
#include "base/str.h"
#include "event/event.h"

#define LIMIT_DEFAULT  100
#define WAIT_MAX_S     60
#define WAIT_TEAMS_MAX 64 /* as in events/server.h */
#define HAND_OVER_MAX  8192
#define READ_MOST_MS   5000 /* for the teams of one list */

struct asked {
    struct event_filter filter;
    const char **team_ids; /* owned, for the filter */
    uint64_t after, wait_s;
    const char *after_field; /* the parameter or header with the cursor */
    unsigned limit;
    bool from_start; /* the request has neither an id nor a time */
    bool stream;
};

static int read_kinds(const struct http_request *request, struct event_filter *filter,
                      struct error **err)
{
    for (size_t i = 0; i < request->query_count; i++) {
        enum event_kind kind;
        if (!str_equal(request->query[i].name, "kind"))
            continue;
        if (event_kind_read(request->query[i].value, "kind", &kind, err) < 0)
            return -1;
        filter->kinds[kind] = true;
    }
    return 0;
}

static int read_filter(const struct http_request *request, struct event_filter *filter,
                       struct error **err)
{
    const char *sandbox_id = http_query(request, "sandbox_id");
    if (sandbox_id && !id_is_valid("sbx_", sandbox_id))
        return error_set_field(err, ERR_INVALID_REQUEST, "sandbox_id",
                               "sandbox_id must be the id of a sandbox, sbx_ and 26 characters.");
    if (sandbox_id)
        memcpy(filter->sandbox_id, sandbox_id, ID_SIZE);
    return query_read_time(request, "since", &filter->since_ms, err) < 0
               ? -1
               : read_kinds(request, filter, err);
}

/* Read the cursor. A client that lost its stream sends its last event in a header. */
static int read_after(const struct http_request *request, struct asked *asked, struct error **err)
{
    const char *header = http_header(request, "Last-Event-ID");
    const char *text = header && asked->stream ? header : http_query(request, "after");
    asked->after_field = header && asked->stream ? "Last-Event-ID" : "after";
    asked->from_start = !text && !http_query(request, "since");
    if (text && event_id_parse(text, &asked->after) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, asked->after_field,
                               "%s must be the id of an event, evt_ and digits.",
                               asked->after_field);
    return 0;
}

static void read_teams(const struct api *api, struct asked *asked)
{
    const struct principal *principal = &api->principal;
    asked->team_ids = xcalloc(principal->team_count + 1, sizeof *asked->team_ids);
    asked->filter.team_ids = asked->team_ids;
    if (api->access.team)
        asked->team_ids[asked->filter.team_count++] = api->access.team->id;
    for (unsigned i = 0; i < principal->team_count && !api->access.team; i++)
        asked->team_ids[asked->filter.team_count++] = principal->teams[i].id;
}

static bool accepts_stream(const struct http_request *request)
{
    const char *accept = http_header(request, "Accept");
    return media_type_quality(accept, "text/event-stream") && strcmp(request->method, "HEAD") != 0;
}

static int read_request(const struct api *api, const struct http_request *request,
                        struct asked *asked, struct error **err)
{
    uint64_t limit = LIMIT_DEFAULT;
    *asked = (struct asked){.stream = accepts_stream(request)};
    if (query_read_number(request, "limit", 1, EVENT_PAGE_MAX, &limit, err) < 0 ||
        query_read_number(request, "wait", 0, WAIT_MAX_S, &asked->wait_s, err) < 0 ||
        read_filter(request, &asked->filter, err) < 0 || read_after(request, asked, err) < 0)
        return -1;
    asked->limit = (unsigned)limit;
    asked->filter.until_ms = clock_monotonic_ms() + READ_MOST_MS;
    if (!strcmp(request->method, "HEAD"))
        asked->wait_s = 0;
    read_teams(api, asked);
    return 0;
}

/* Make nginx send the query to sandlot-events instead; see events/server.h. */
static int hand_over(const struct api *api, const struct http_request *request,
                     const struct asked *asked, struct http_response *response, struct error **err)
{
    const struct event_filter *filter = &asked->filter;
    char kinds[EVENT_KINDS_BYTES];
    buffer_auto query = BUFFER_INIT(HAND_OVER_MAX);
    uint64_t wait_s = asked->stream ? api->settings->event_stream_s : asked->wait_s;
    if (filter->team_count > WAIT_TEAMS_MAX)
        return error_set_field(
            err, ERR_INVALID_REQUEST, "team",
            "You reach more than %d teams; name one of them to wait for its events.",
            WAIT_TEAMS_MAX);
    const struct principal *principal = &api->principal;
    buffer_printf(&query, "t=%s&u=%s&c=%s&r=%s&s=%d&w=%" PRIu64 "&l=%u&a=%" PRIu64 "&f=%" PRId64,
                  api->access.team ? api->access.team->id : principal->personal_team_id,
                  principal->user_id, *principal->key_id ? principal->key_id : principal->login_id,
                  request->request_id, asked->stream, wait_s * 1000, asked->limit, asked->after,
                  filter->since_ms);
    if (*filter->sandbox_id)
        buffer_printf(&query, "&b=%s", filter->sandbox_id);
    if (*event_kinds_text(filter, kinds))
        buffer_printf(&query, "&k=%s", kinds);
    for (unsigned i = 0; i < filter->team_count; i++)
        buffer_printf(&query, "%s%s", i ? "," : "&m=", filter->team_ids[i]);
    http_response_header(response, "X-Accel-Redirect", "/_sandlot/events?%s",
                         buffer_string(&query));
    return 0;
}

static int answer(struct api *api, const struct http_request *request, struct asked *asked,
                  struct http_response *response, struct error **err)
{
    struct event *list;
    unsigned count;
    uint64_t head;
    if (event_head(api->worker.db, &head, err) < 0)
        return -1;
    if (asked->after > head)
        return error_set_field(err, ERR_INVALID_REQUEST, asked->after_field,
                               "There is no event with this id yet.");
    if (asked->stream && asked->from_start)
        asked->after = head;
    if (asked->stream)
        return hand_over(api, request, asked, response, err);
    if (event_list(api->worker.db, &asked->filter, asked->after, head, asked->limit, &list, &count,
                   err) < 0)
        return -1;
    uint64_t last_id = count == asked->limit ? list[count - 1].id : head;
    json_t *page = count || !asked->wait_s ? event_page_to_json(list, count, last_id) : NULL;
    events_free(list, count);
    if (page)
        return http_response_json(response, 200, page);
    asked->after = head;
    return hand_over(api, request, asked, response, err);
}

int events_list(void *context, struct http_request *request, struct http_response *response,
                struct error **err)
{
    struct api *api = context;
    struct asked asked;
    int result = read_request(api, request, &asked, err) < 0
                     ? -1
                     : answer(api, request, &asked, response, err);
    free(asked.team_ids);
    return result;
}
