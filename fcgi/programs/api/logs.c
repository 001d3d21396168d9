/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/logs.h"

#include "api/query.h"
#include "api/sandbox_output.h"
#include "api/span.h"
#include "base/mem.h"
#include "base/str.h"

#define LIMIT_DEFAULT 100

static int check_ready(const struct sandbox *sandbox, struct error **err)
{
    if (sandbox->state == SANDBOX_READY || sandbox->state == SANDBOX_CHECKPOINTING)
        return 0;
    return error_set(err, ERR_SANDBOX_NOT_RUNNING,
                     "The sandbox is %s; its logs are in its memory and can be read once it is "
                     "ready.",
                     sandbox_state_name(sandbox->state));
}

static char *query_text(const struct logs_query *query)
{
    autofree char *end =
        query->to_ms ? xasprintf("&to_ms=%lld", (long long)query->to_ms) : xstrdup("");
    return xasprintf("after=%llu&limit=%u&pid=%llu&from_ms=%lld&order=%s%s",
                     (unsigned long long)query->after, query->limit, (unsigned long long)query->pid,
                     (long long)query->from_ms, query->newest_first ? "desc" : "asc", end);
}

int logs_read(struct api *api, const struct logs_query *query, json_t **logs, struct error **err)
{
    const struct sandbox *sandbox = &api->access.sandbox;
    struct worker *worker = &api->worker;
    autofree char *text = query_text(query);
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    if (check_ready(sandbox, err) < 0 ||
        runtimes_agent(worker->runtimes, worker->db, sandbox->host_id, sandbox->address, &at, err) <
            0 ||
        agent_secret(worker->ring, sandbox->instance_name, sandbox->agent_key_id, secret, err) < 0)
        return -1;
    int result = agent_logs(&at, secret, text, logs, err);
    mem_wipe(secret, sizeof secret);
    return result;
}

int logs_entry(const json_t *logs, size_t index, struct log_entry *entry, struct error **err)
{
    *entry = (struct log_entry){.tag = NULL};
    json_t *tag = NULL;
    if (json_unpack(json_array_get(logs, index), "{s:I, s:I, s:I, s:s, s:o, s:s, s:I, s:s, s:s}",
                    "position", &entry->position, "at_ms", &entry->at_ms, "pid", &entry->pid,
                    "command", &entry->command, "tag", &tag, "stream", &entry->stream, "offset",
                    &entry->offset, "data", &entry->data, "encoding", &entry->encoding) < 0)
        return error_set(err, ERR_RUNTIME_FAILED,
                         "The sandbox's agent gave a wrong answer: an entry of its log is "
                         "malformed.");
    entry->tag = json_string_value(tag);
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
    return error_set_field(err, ERR_INVALID_REQUEST, "order", "order is asc or desc.");
}

static int read_query(const struct http_request *request, struct logs_query *query,
                      struct error **err)
{
    uint64_t limit = LIMIT_DEFAULT;
    if (query_read_number(request, "limit", 1, LOGS_LIMIT_MAX, &limit, err) < 0 ||
        query_read_number(request, "after", 1, INT64_MAX, &query->after, err) < 0 ||
        query_read_number(request, "pid", 1, INT32_MAX, &query->pid, err) < 0 ||
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
    return json_pack("{s:I, s:o, s:I, s:s, s:s?, s:s, s:I, s:s, s:s}", "position", entry->position,
                     "at", time_to_json(entry->at_ms), "pid", entry->pid, "command", entry->command,
                     "tag", entry->tag, "stream", entry->stream, "offset", entry->offset, "data",
                     entry->data, "encoding", entry->encoding);
}

int logs_list(void *context, struct http_request *request, struct http_response *response,
              struct error **err)
{
    struct logs_query query = {.limit = LIMIT_DEFAULT};
    json_auto_t *logs = NULL;
    json_auto_t *list = json_array();
    if (read_query(request, &query, err) < 0 || logs_read(context, &query, &logs, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(logs); i++) {
        struct log_entry entry;
        if (logs_entry(logs, i, &entry, err) < 0)
            return -1;
        json_array_append_new(list, entry_to_json(&entry));
    }
    return http_response_json(response, 200, json_pack("{s:O}", "logs", list));
}
