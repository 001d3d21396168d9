/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /internal/logs: the output of processes, without terminals. */
#include "agent/process/process_logs.h"

#include "agent/agent.h"
#include "agent/common/proto.h"
#include "agent/process/exec_text.h"
#include "agent/process/group_counts.h"
#include "agent/process/process.h"
#include "base/str.h"

#define LIMIT_MAX 1000

/* Of output in an answer, which ends early then: its reader has bounds too. */
#define ANSWER_OUTPUT_MAX (256 * 1024)

struct logs_query {
    uint64_t after; /* the position of the entry behind which it begins; 0: at the end */
    uint64_t limit, pid, from_ms, to_ms;
    bool newest_first;
};

static int read_number(const struct request *request, const char *name, uint64_t least,
                       uint64_t most, uint64_t *value, struct rpc_error *error)
{
    const char *text;
    if (request_argument(request, name, &text, error) < 0)
        return -1;
    if (!text || str_parse_u64(text, least, most, value) == 0)
        return 0;
    return rpc_error_set(error, RPC_INVALID_ARGUMENT, "%s must be a number", name);
}

static int read_query(const struct request *request, struct logs_query *query,
                      struct rpc_error *error)
{
    const char *order;
    *query = (struct logs_query){.limit = 100, .to_ms = INT64_MAX};
    if (read_number(request, "after", 0, INT64_MAX, &query->after, error) < 0 ||
        read_number(request, "limit", 1, LIMIT_MAX, &query->limit, error) < 0 ||
        read_number(request, "pid", 0, INT32_MAX, &query->pid, error) < 0 ||
        read_number(request, "from_ms", 0, INT64_MAX, &query->from_ms, error) < 0 ||
        read_number(request, "to_ms", 0, INT64_MAX, &query->to_ms, error) < 0 ||
        request_argument(request, "order", &order, error) < 0)
        return -1;
    query->newest_first = str_equal(order, "desc");
    return 0;
}

static bool matches(const struct logs_query *query, const struct process_log_entry *entry)
{
    bool behind = !query->after || (query->newest_first ? entry->position < query->after
                                                        : entry->position > query->after);
    return behind && entry->kind != PROCESS_PTY &&
           (!query->pid || entry->source->pid == (pid_t)query->pid) &&
           entry->at_ms >= (int64_t)query->from_ms && entry->at_ms <= (int64_t)query->to_ms;
}

static json_t *entry_to_json(const struct process_log_entry *entry)
{
    const char *encoding;
    json_t *data = exec_text_json(entry->data, entry->size, &encoding);
    return json_pack("{s:I, s:I, s:i, s:o, s:o, s:s?, s:s, s:I, s:o, s:s}", "position",
                     (json_int_t)entry->position, "at_ms", (json_int_t)entry->at_ms, "pid",
                     (int)entry->source->pid, "command", proto_text(entry->source->command), "tag",
                     entry->source->tag ? proto_text(entry->source->tag) : json_null(), "trace_id",
                     *entry->source->trace_id ? entry->source->trace_id : NULL, "stream",
                     entry->kind == PROCESS_STDERR ? "stderr" : "stdout", "offset",
                     (json_int_t)entry->offset, "data", data, "encoding", encoding);
}

static json_t *collect(struct process_log *log, const struct logs_query *query)
{
    json_t *list = json_array();
    size_t output = 0;
    const struct process_log_entry *entry = query->newest_first
                                                ? TAILQ_LAST(&log->entries, process_log_entries)
                                                : TAILQ_FIRST(&log->entries);
    while (entry && json_array_size(list) < query->limit && output < ANSWER_OUTPUT_MAX) {
        if (matches(query, entry)) {
            json_array_append_new(list, entry_to_json(entry));
            output += entry->size;
        }
        entry = query->newest_first ? TAILQ_PREV(entry, process_log_entries, link)
                                    : TAILQ_NEXT(entry, link);
    }
    return list;
}

int process_logs_reply(struct request *request, struct process_log *log, struct rpc_error *error)
{
    struct logs_query query;
    if (read_query(request, &query, error) < 0)
        return -1;
    json_t *list = collect(log, &query);
    log->sealed = true;
    return httpd_reply_json(&request->http, 200, json_pack("{s:o}", "logs", list));
}

int logs_finish(struct request *request, struct rpc_error *error)
{
    struct process_log *log = &request->agent->processes->log;
    struct group_counts counts;
    group_counts_read(&counts);
    process_log_note_kills(log, counts.memory_kills); /* also of programs in the background */
    return process_logs_reply(request, log, error);
}
