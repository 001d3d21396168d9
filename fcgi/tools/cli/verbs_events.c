/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Past and new events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/printable.h"
#include "cli/api.h"
#include "cli/output.h"
#include "cli/verbs.h"

#define PATH_MAX_BYTES 8192
#define FOLLOW_WAIT_S  30
#define PAGE           500

const struct cli_option events_options[] = {
    {"follow", 'f', NULL, "keep running and print new events"},
    {"kind", 'k', "KIND", "of this kind only, such as sandbox.paused; may be repeated"},
    {"sandbox", 's', "SANDBOX", "of this sandbox only"},
    {"since", 0, "TIME", "from this time on, such as 2026-11-22T10:00:00Z"},
    {"team", 0, "TEAM", "of this team only"},
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
    api_add_query(path, "since", cli_value(call, "since"));
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
    autofree char *line =
        xasprintf("%s  %-22s  %-12s  %-30s  %s", json_string_value(json_object_get(event, "at")),
                  json_string_value(json_object_get(event, "kind")), name ? name : "-",
                  id ? id : "-", json_object_size(data) ? text : "");
    autofree char *shown = printable(line, "");
    puts(shown);
}

/* One page from `after` on ("": from the first), which is moved to its end; *count: of how many. */
static int read_page(struct cli_call *call, const char *filter, unsigned wait_s, char **after,
                     size_t *count, struct error **err)
{
    json_auto_t *answer = NULL;
    size_t i;
    json_t *event;
    autofree char *path = xasprintf("%s%s%s", filter, **after ? "&after=" : "", *after);
    autofree char *waiting = xasprintf("%s&wait=%u", path, wait_s);
    if (api_call(call->cli, "GET", wait_s ? waiting : path, NULL, &answer, err) < 0)
        return -1;
    const json_t *events = json_object_get(answer, "events");
    const char *last_id = json_string_value(json_object_get(answer, "last_id"));
    if (!json_is_array(events) || !last_id)
        return error_set(err, ERR_INTERNAL, "the answer has no events");
    json_array_foreach ((json_t *)events, i, event)
        print_event(call->cli, event);
    fflush(stdout);
    free(*after);
    *after = xstrdup(last_id);
    *count = json_array_size(events);
    return 0;
}

int verb_events(struct cli_call *call, struct error **err)
{
    buffer_auto filter = BUFFER_INIT(PATH_MAX_BYTES);
    autofree char *after = xstrdup("");
    bool follows = cli_flag(call, "follow");
    size_t count = 0;
    if (filters(call, &filter, err) < 0)
        return -1;
    do {
        unsigned wait_s = follows && *after && count < PAGE ? FOLLOW_WAIT_S : 0;
        if (read_page(call, buffer_string(&filter), wait_s, &after, &count, err) < 0)
            return -1;
    } while ((follows || count == PAGE) && !ferror(stdout));
    return 0;
}
