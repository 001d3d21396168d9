/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logs as lines with levels. A line from standard error has the level error. */
#include <stdlib.h>
#include <string.h>

#include "api/e2b/e2b.h"
#include "api/logs.h"
#include "api/sandbox_output.h"
#include "base/mem.h"
#include "base/str.h"

#define SEARCH_MAX   256
#define READ_MOST_MS 5000 /* for all pages of a log */
/* The most lines of one entry in an answer. An agent's entry has at most 256 KiB, so only an entry
 * of nearly empty lines has more. */
#define ENTRY_LINES_MAX 10000

/* Levels in ascending order. */
static const char *const levels[] = {"debug", "info", "warn", "error"};
#define LEVEL_INFO  1
#define LEVEL_ERROR 3

struct lines {
    struct logs_query query; /* in the form of /v1 */
    unsigned limit;
    unsigned least_level;
    const char *search; /* NULL: all lines */
    json_t *entries;
};

static bool is_wanted(const struct lines *lines, unsigned level, const char *text)
{
    return level >= lines->least_level && (!lines->search || strstr(text, lines->search));
}

static json_t *line_to_json(const struct log_entry *entry, unsigned level, const char *text)
{
    return json_pack("{s:o, s:s, s:s, s:{s:s, s:s, s:s, s:o}}", "timestamp",
                     time_to_json(entry->at_ms), "message", text, "level", levels[level], "fields",
                     "logger", "process", "stream", entry->stream, "command", entry->command, "pid",
                     json_sprintf("%lld", (long long)entry->pid));
}

/* Split an entry into lines, oldest first. */
static json_t *split(const struct lines *lines, const struct log_entry *entry)
{
    json_t *list = json_array();
    unsigned level = str_equal(entry->stream, "stderr") ? LEVEL_ERROR : LEVEL_INFO;
    autofree char *copy = xstrdup(entry->data);
    char *rest = copy;
    for (char *text; json_array_size(list) < ENTRY_LINES_MAX && (text = strsep(&rest, "\n"));)
        if ((rest || *text) && is_wanted(lines, level, text))
            json_array_append_new(list, line_to_json(entry, level, text));
    return list;
}

static void reverse_into(json_t *list, const json_t *lines)
{
    for (size_t i = json_array_size(lines); i > 0; i--)
        json_array_append(list, json_array_get(lines, i - 1));
}

/* Add all lines of an entry or no line, because clients continue from a time. Returns 1 when the
 * entry does not fit. */
static int add_entry(struct lines *lines, const struct log_entry *entry)
{
    json_auto_t *found = split(lines, entry);
    size_t count = json_array_size(lines->entries);
    if (count && count + json_array_size(found) > lines->limit)
        return 1;
    if (lines->query.newest_first)
        reverse_into(lines->entries, found);
    else
        json_array_extend(lines->entries, found);
    return 0;
}

static int add_entries(struct lines *lines, const json_t *logs, struct error **err)
{
    for (size_t i = 0; i < json_array_size(logs); i++) {
        struct log_entry entry;
        if (logs_entry(logs, i, &entry, err) < 0)
            return -1;
        if (add_entry(lines, &entry))
            return 1;
        lines->query.after = (uint64_t)entry.position;
    }
    return json_array_size(logs) == 0;
}

/* Read pages until the answer is full. The owner of a sandbox may have replaced the agent, so all
 * pages share one deadline. A timeout is an error: it must not look like the end of the log. */
static int read_lines(struct api *api, struct lines *lines, struct error **err)
{
    lines->query.limit = LOGS_LIMIT_MAX;
    struct deadline until = deadline_in_ms(READ_MOST_MS);
    while (!deadline_passed(until)) {
        json_auto_t *logs = NULL;
        if (json_array_size(lines->entries) >= lines->limit)
            return 0;
        struct deadline page = deadline_within_ms(until, AGENT_WAIT_MS);
        int result = logs_read(api, &lines->query, page, &logs, err);
        if (result == 0)
            result = add_entries(lines, logs, err);
        if (result != 0)
            return result < 0 ? -1 : 0;
    }
    return error_set(
        err, ERR_AGENT_SILENT,
        "The sandbox's agent did not send the whole log within %d s; request a part of it.",
        READ_MOST_MS / 1000);
}

static int read_number(const struct http_request *request, const char *name, uint64_t most,
                       uint64_t *value, struct error **err)
{
    const char *text = http_query(request, name);
    if (!text || str_parse_u64(text, 0, most, value) == 0)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, name, "%s must be a number from 0 to %llu.",
                           name, (unsigned long long)most);
}

static int read_limit(const struct http_request *request, struct lines *lines, struct error **err)
{
    uint64_t limit = LOGS_LIMIT_MAX;
    if (read_number(request, "limit", LOGS_LIMIT_MAX, &limit, err) < 0)
        return -1;
    lines->limit = (unsigned)limit;
    return 0;
}

/* --- the first version of the call --- */

/* Make the lines of this version: each line is a JSON text. */
static json_t *lines_to_json(const json_t *entries)
{
    json_t *list = json_array();
    size_t i;
    json_t *entry;
    json_array_foreach ((json_t *)(uintptr_t)entries, i, entry) {
        json_auto_t *line = json_copy(json_object_get(entry, "fields"));
        json_object_set(line, "level", json_object_get(entry, "level"));
        json_object_set(line, "message", json_object_get(entry, "message"));
        autofree char *text = json_dumps(line, JSON_COMPACT);
        json_array_append_new(list, json_pack("{s:O, s:s}", "timestamp",
                                              json_object_get(entry, "timestamp"), "line", text));
    }
    return list;
}

int e2b_logs_list(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    json_auto_t *entries = json_array();
    struct lines lines = {.entries = entries};
    uint64_t start_ms = 0;
    if (read_limit(request, &lines, err) < 0 ||
        read_number(request, "start", INT64_MAX, &start_ms, err) < 0)
        return -1;
    lines.query.from_ms = (int64_t)start_ms;
    if (read_lines(context, &lines, err) < 0)
        return -1;
    return http_response_json(
        response, 200,
        json_pack("{s:o, s:O}", "logs", lines_to_json(entries), "logEntries", entries));
}

/* --- the second version --- */

static int read_level(const struct http_request *request, unsigned *level, struct error **err)
{
    const char *name = http_query(request, "level");
    for (*level = 0; name && *level < ARRAY_SIZE(levels); ++*level)
        if (str_equal(name, levels[*level]))
            return 0;
    return name ? error_set_field(err, ERR_INVALID_REQUEST, "level",
                                  "level must be debug, info, warn or error.")
                : 0;
}

static int read_direction(const struct http_request *request, struct lines *lines,
                          struct error **err)
{
    const char *direction = http_query(request, "direction");
    uint64_t cursor_ms = 0;
    if (read_number(request, "cursor", INT64_MAX, &cursor_ms, err) < 0)
        return -1;
    lines->query.newest_first = !direction || str_equal(direction, "backward");
    if (!lines->query.newest_first && !str_equal(direction, "forward"))
        return error_set_field(err, ERR_INVALID_REQUEST, "direction",
                               "direction must be forward or backward.");
    if (lines->query.newest_first)
        lines->query.to_ms = (int64_t)cursor_ms;
    else
        lines->query.from_ms = (int64_t)cursor_ms;
    return 0;
}

int e2b_logs_list_v2(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    json_auto_t *entries = json_array();
    struct lines lines = {.entries = entries, .search = http_query(request, "search")};
    if (lines.search && strlen(lines.search) > SEARCH_MAX)
        return error_set_field(err, ERR_INVALID_REQUEST, "search", "search has at most %d bytes.",
                               SEARCH_MAX);
    if (read_limit(request, &lines, err) < 0 || read_level(request, &lines.least_level, err) < 0 ||
        read_direction(request, &lines, err) < 0 || read_lines(context, &lines, err) < 0)
        return -1;
    return http_response_json(response, 200, json_pack("{s:O}", "logs", entries));
}
