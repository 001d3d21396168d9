/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/logs.h"

#include <string.h>

#include "api/query.h"
#include "api/sandbox_output.h"
#include "api/span.h"
#include "base/guest_limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/trace.h"
#include "sandbox/kept_log.h"

#define LIMIT_DEFAULT 100

static char *query_text(const struct logs_query *query)
{
    autofree char *end =
        query->to_ms ? xasprintf("&to_ms=%lld", (long long)query->to_ms) : xstrdup("");
    return xasprintf("after=%llu&limit=%u&pid=%llu&from_ms=%lld&order=%s%s",
                     (unsigned long long)query->after, query->limit, (unsigned long long)query->pid,
                     (long long)query->from_ms, query->newest_first ? "desc" : "asc", end);
}

static int ask_agent(struct api *api, const struct logs_query *query, struct deadline until,
                     json_t **logs, struct error **err)
{
    const struct sandbox *sandbox = &api->access.sandbox;
    struct worker *worker = &api->worker;
    autofree char *text = query_text(query);
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    if (runtimes_agent(worker->runtimes, worker->db, sandbox->host_id, sandbox->address, &at, err) <
            0 ||
        agent_secret(worker->ring, sandbox->instance_name, sandbox->agent_key_id, secret, err) < 0)
        return -1;
    int result = agent_logs(&at, secret, query->service, text, until, logs, err);
    mem_wipe(secret, sizeof secret);
    return result;
}

/* --- the logs of a paused sandbox --- */

/* Return whether an entry matches a query, by the agent's own rules. */
static bool matches(const struct logs_query *query, const struct log_entry *entry)
{
    json_int_t after = (json_int_t)query->after;
    bool behind =
        !after || (query->newest_first ? entry->position < after : entry->position > after);
    return behind && (!query->pid || entry->pid == (json_int_t)query->pid) &&
           (!query->service || str_equal(entry->tag, query->service)) &&
           entry->at_ms >= query->from_ms && (!query->to_ms || entry->at_ms <= query->to_ms);
}

static int choose(const struct logs_query *query, const json_t *kept, json_t *logs,
                  struct error **err)
{
    size_t count = json_array_size(kept);
    for (size_t i = 0; i < count && json_array_size(logs) < query->limit; i++) {
        size_t at = query->newest_first ? i : count - 1 - i;
        struct log_entry entry;
        if (logs_entry(kept, at, &entry, err) < 0)
            return -1;
        if (matches(query, &entry))
            json_array_append(logs, json_array_get(kept, at));
    }
    return 0;
}

#define LOGS_ARE "; its logs are in its memory, and you can read them while it runs"

static int read_kept(struct api *api, const struct logs_query *query, json_t **logs,
                     struct error **err)
{
    const struct sandbox *sandbox = &api->access.sandbox;
    json_auto_t *kept = NULL;
    json_auto_t *chosen = json_array();
    if (kept_log_read(&api->worker, sandbox->id, &kept, err) < 0) {
        if (!error_clear_if(err, ERR_NOT_FOUND))
            return -1;
        return sandbox_state_require_running(sandbox->state,
                                             ", and its logs were not saved" LOGS_ARE, err);
    }
    if (choose(query, kept, chosen, err) < 0)
        return -1;
    *logs = json_incref(chosen);
    return 0;
}

int logs_read(struct api *api, const struct logs_query *query, struct deadline until, json_t **logs,
              struct error **err)
{
    const struct sandbox *sandbox = &api->access.sandbox;
    switch (sandbox_state_told(sandbox->state)) {
    case SANDBOX_READY:
    case SANDBOX_CHECKPOINTING:
        return ask_agent(api, query, until, logs, err);
    case SANDBOX_STOPPED:
    case SANDBOX_COPYING:
        return read_kept(api, query, logs, err);
    default:
        return sandbox_state_require_running(sandbox->state, LOGS_ARE, err);
    }
}

/* Return whether the short texts are short. They stand in the answer again for each line. */
static bool is_short(const struct log_entry *entry)
{
    return strlen(entry->command) <= 3 * (size_t)GUEST_LOG_COMMAND_BYTES_MAX &&
           (!entry->tag || strlen(entry->tag) <= 3 * (size_t)GUEST_TAG_BYTES_MAX) &&
           (!entry->trace_id || strlen(entry->trace_id) < TRACE_ID_SIZE) &&
           (str_equal(entry->stream, "stdout") || str_equal(entry->stream, "stderr")) &&
           (str_equal(entry->encoding, "utf-8") || str_equal(entry->encoding, "base64"));
}

int logs_entry(const json_t *logs, size_t index, struct log_entry *entry, struct error **err)
{
    *entry = (struct log_entry){.tag = NULL};
    json_t *tag = NULL, *trace_id = NULL; /* an agent of the previous version does not send it */
    int fits = json_unpack(
        json_array_get(logs, index), "{s:I, s:I, s:I, s:s, s:o, s?o, s:s, s:I, s:s, s:s}",
        "position", &entry->position, "at_ms", &entry->at_ms, "pid", &entry->pid, "command",
        &entry->command, "tag", &tag, "trace_id", &trace_id, "stream", &entry->stream, "offset",
        &entry->offset, "data", &entry->data, "encoding", &entry->encoding);
    entry->tag = json_string_value(tag);
    entry->trace_id = json_string_value(trace_id);
    if (fits < 0 || !is_short(entry))
        return error_set(err, ERR_RUNTIME_FAILED,
                         "The answer of the sandbox's agent has a malformed log entry.");
    return 0;
}

/* --- GET /v1/sandboxes/:id/logs --- */

static int64_t from_the_beginning(int64_t to_ms)
{
    (void)to_ms;
    return 0;
}

static int read_order(const struct http_request *request, bool *newest_first, struct error **err)
{
    const char *order = http_query(request, "order");
    *newest_first = str_equal(order, "desc");
    if (!order || *newest_first || str_equal(order, "asc"))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "order", "order must be asc or desc.");
}

static int read_service(const struct http_request *request, const char **service,
                        struct error **err)
{
    *service = http_query(request, "service");
    return !*service || str_is_name(*service, SERVICE_NAME_MAX)
               ? 0
               : error_set_field(err, ERR_INVALID_REQUEST, "service",
                                 "service must be the name of a service.");
}

static int read_query(const struct http_request *request, struct logs_query *query,
                      struct error **err)
{
    uint64_t limit = LIMIT_DEFAULT;
    if (query_read_number(request, "limit", 1, LOGS_LIMIT_MAX, &limit, err) < 0 ||
        query_read_number(request, "after", 1, INT64_MAX, &query->after, err) < 0 ||
        query_read_number(request, "pid", 1, INT32_MAX, &query->pid, err) < 0 ||
        read_service(request, &query->service, err) < 0 ||
        read_order(request, &query->newest_first, err) < 0 ||
        span_read(request, from_the_beginning, &query->from_ms, &query->to_ms, err) < 0)
        return -1;
    query->limit = (unsigned)limit;
    if (!http_query(request, "to"))
        query->to_ms = 0;
    return 0;
}

static json_t *entry_to_json(const struct log_entry *entry)
{
    return json_pack("{s:I, s:o, s:I, s:s, s:s?, s:s?, s:s, s:I, s:s, s:s}", "position",
                     entry->position, "at", time_to_json(entry->at_ms), "pid", entry->pid,
                     "command", entry->command, "tag", entry->tag, "trace_id", entry->trace_id,
                     "stream", entry->stream, "offset", entry->offset, "data", entry->data,
                     "encoding", entry->encoding);
}

int logs_list(void *context, struct http_request *request, struct http_response *response,
              struct error **err)
{
    struct logs_query query = {.limit = LIMIT_DEFAULT};
    json_auto_t *logs = NULL;
    json_auto_t *list = json_array();
    if (read_query(request, &query, err) < 0 ||
        logs_read(context, &query, deadline_in_ms(AGENT_WAIT_MS), &logs, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(logs); i++) {
        struct log_entry entry;
        if (logs_entry(logs, i, &entry, err) < 0)
            return -1;
        json_array_append_new(list, entry_to_json(&entry));
    }
    return http_response_json(response, 200, json_pack("{s:O}", "logs", list));
}
