/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Past and new events. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/output.h"
#include "cli/verbs.h"

#define PATH_MAX_BYTES 8192
#define FOLLOW_WAIT_S  30
#define PAGE           500
#define TAIL_MAX       10000
#define NO_EVENT_YET   "9999-01-01T00:00:00Z"

const struct cli_option events_options[] = {
    {"follow", 'f', NULL,
     "print new events until Ctrl-C, and earlier ones only with --since or --tail"},
    {"kind", 'k', "KIND", "only events of this kind, such as sandbox.paused; may be repeated"},
    {"sandbox", 's', "SANDBOX", "only those of this sandbox"},
    {"since", 0, "TIME|DURATION", "from this time on: 2026-11-22T10:00:00Z, or 10m ago"},
    {"tail", 'n', "NUMBER", "only this many, the newest"},
    {"team", 0, "TEAM", "only those of this team"},
    {NULL, 0, NULL, NULL},
};

static int filters(struct cli_call *call, struct buffer *path, struct error **err)
{
    autofree char *sandbox_id = NULL;
    const char *sandbox = cli_value(call, "sandbox"), *kind;
    size_t at = 0;
    if (sandbox && api_sandbox_id(call->cli, sandbox, &sandbox_id, err) < 0)
        return -1;
    buffer_printf(path, "/v1/events?limit=%d", PAGE);
    api_add_query(path, "sandbox_id", sandbox_id);
    api_add_time(path, "since", cli_value(call, "since"));
    api_add_query(path, "team", cli_value(call, "team"));
    while ((kind = cli_next_value(call, "kind", &at)))
        api_add_query(path, "kind", kind);
    return buffer_overflowed(path) ? cli_misuse(err, "too many filters") : 0;
}

static void print_event(const struct cli *cli, const json_t *event)
{
    const json_t *data = json_object_get(event, "data");
    const char *id = json_string_value(json_object_get(event, "sandbox_id"));
    const char *name = json_string_value(json_object_get(event, "sandbox_name"));
    autofree char *text = json_dumps(data, JSON_COMPACT);
    if (cli->json) {
        output_json_line(event);
        return;
    }
    printable_print(stdout, "%s  %-22s  %-12s  %-30s  %s\n",
                    json_string_value(json_object_get(event, "at")),
                    json_string_value(json_object_get(event, "kind")), name ? name : "-",
                    id ? id : "-", json_object_size(data) ? text : "");
}

/* The position in the list of events, and the events that --tail keeps. */
struct reading {
    char *after;   /* the id of the last event; "": the list begins with the first */
    json_t *kept;  /* the newest events of --tail; NULL: all are printed */
    uint64_t tail; /* how many are kept */
};

static void take_event(const struct cli *cli, struct reading *reading, json_t *event)
{
    if (!reading->kept) {
        print_event(cli, event);
        return;
    }
    json_array_append(reading->kept, event);
    if (json_array_size(reading->kept) > reading->tail)
        json_array_remove(reading->kept, 0);
}

static void print_kept(const struct cli *cli, struct reading *reading)
{
    size_t i;
    json_t *event;
    json_array_foreach (reading->kept, i, event)
        print_event(cli, event);
    json_decref(reading->kept);
    reading->kept = NULL;
}

/* Read one page, and move to its end; *count: the number of its events. */
static int read_page(struct cli_call *call, const char *filter, unsigned wait_s,
                     struct reading *reading, size_t *count, struct error **err)
{
    json_auto_t *answer = NULL;
    size_t i;
    json_t *event;
    autofree char *path =
        xasprintf("%s%s%s", filter, *reading->after ? "&after=" : "", reading->after);
    autofree char *waiting = xasprintf("%s&wait=%u", path, wait_s);
    if (api_call(call->cli, "GET", wait_s ? waiting : path, NULL, &answer, err) < 0)
        return -1;
    const json_t *events = json_object_get(answer, "events");
    const char *last_id = json_string_value(json_object_get(answer, "last_id"));
    if (!json_is_array(events) || !last_id)
        return error_set(err, ERR_INTERNAL, "the answer has no events");
    json_array_foreach ((json_t *)events, i, event)
        take_event(call->cli, reading, event);
    output_flush();
    free(reading->after);
    reading->after = xstrdup(last_id);
    *count = json_array_size(events);
    return 0;
}

/* Read up to the newest event, and then, if wanted, wait for more. */
static int read_all(struct cli_call *call, const char *filter, struct reading *reading,
                    struct error **err)
{
    bool follows = cli_flag(call, "follow"), from_now = follows && !reading->tail;
    size_t count = PAGE;
    if (from_now && !cli_value(call, "since") &&
        read_page(call, "/v1/events?limit=1&since=" NO_EVENT_YET, 0, reading, &count, err) < 0)
        return -1;
    do {
        unsigned wait_s = follows && *reading->after && count < PAGE ? FOLLOW_WAIT_S : 0;
        if (read_page(call, filter, wait_s, reading, &count, err) < 0)
            return -1;
        if (count < PAGE)
            print_kept(call->cli, reading);
        output_flush();
    } while ((follows || count == PAGE) && !ferror(stdout));
    return 0;
}

int verb_events(struct cli_call *call, struct error **err)
{
    buffer_auto filter = BUFFER_INIT(PATH_MAX_BYTES);
    struct reading reading = {.after = xstrdup("")};
    const char *tail = cli_value(call, "tail");
    int result = -1;
    if (tail && str_parse_u64(tail, 1, TAIL_MAX, &reading.tail) < 0)
        cli_misuse(err, "--tail must be a number from 1 to %d, not '%s'", TAIL_MAX, tail);
    else if (filters(call, &filter, err) == 0) {
        reading.kept = tail ? json_array() : NULL;
        result = read_all(call, buffer_string(&filter), &reading, err);
    }
    json_decref(reading.kept);
    free(reading.after);
    return result;
}
