/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of a sandbox's processes, and its metrics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/envelopes.h"
#include "cli/output.h"
#include "cli/verbs.h"

#define FOLLOW_S       2
#define PAGE           1000
#define PATH_MAX_BYTES 4096

const struct cli_option logs_options[] = {
    {"follow", 'f', NULL, "wait for more output, until Ctrl-C"},
    {"pid", 'p', "PID", "only output of this process"},
    {"from", 0, "TIME|DURATION", "from this time on: 2026-11-22T10:00:00Z, or 10m ago"},
    {"to", 0, "TIME|DURATION", "until this time, or this span ago"},
    {NULL, 0, NULL, NULL},
};

const struct cli_option service_logs_options[] = {
    {"follow", 'f', NULL, "wait for more output, until Ctrl-C"},
    {"from", 0, "TIME|DURATION", "from this time on: 2026-11-22T10:00:00Z, or 10m ago"},
    {"to", 0, "TIME|DURATION", "until this time, or this span ago"},
    {NULL, 0, NULL, NULL},
};

/* A terminal gets no control characters but line ends and tabs. */
static void print_bytes(FILE *out, const char *bytes, size_t size)
{
    if (!isatty(fileno(out))) {
        fwrite(bytes, 1, size, out);
        return;
    }
    autofree char *text = xstrndup(bytes, size);
    autofree char *shown = printable(text, "\n\t");
    fputs(shown, out);
}

static void print_entry(const struct cli *cli, const json_t *entry)
{
    const char *data = json_string_value(json_object_get(entry, "data"));
    const char *stream = json_string_value(json_object_get(entry, "stream"));
    FILE *out = str_equal(stream, "stderr") ? stderr : stdout;
    if (cli->json) {
        output_json_line(entry);
        return;
    }
    if (!data)
        return;
    if (!str_equal(json_string_value(json_object_get(entry, "encoding")), "base64")) {
        print_bytes(out, data, strlen(data));
        return;
    }
    size_t size;
    autofree char *bytes = envelope_decode(data, &size);
    if (bytes)
        print_bytes(out, bytes, size);
}

/* One page of entries behind the position *after, which moves to the last one. */
static int read_page(struct cli_call *call, const char *query, json_int_t *after, size_t *count,
                     struct error **err)
{
    json_auto_t *answer = NULL;
    size_t i;
    json_t *entry;
    autofree char *behind = *after ? xasprintf("&after=%lld", (long long)*after) : xstrdup("");
    autofree char *what = xasprintf("%s%s", query, behind);
    if (api_call_sandbox(call, "GET", what, NULL, &answer, err) < 0)
        return -1;
    const json_t *entries = json_object_get(answer, "logs");
    if (!json_is_array(entries))
        return error_set(err, ERR_INTERNAL, "the answer has no logs");
    json_array_foreach ((json_t *)entries, i, entry) {
        print_entry(call->cli, entry);
        *after = json_integer_value(json_object_get(entry, "position"));
    }
    output_flush();
    *count = json_array_size(entries);
    return 0;
}

static int print_logs(struct cli_call *call, const char *service, struct error **err)
{
    buffer_auto query = BUFFER_INIT(PATH_MAX_BYTES);
    bool follows = cli_flag(call, "follow");
    json_int_t after = 0;
    size_t count = 0;
    buffer_printf(&query, "/logs?limit=%d", PAGE);
    api_add_query(&query, "service", service);
    api_add_query(&query, "pid", service ? NULL : cli_value(call, "pid"));
    api_add_time(&query, "from", cli_value(call, "from"));
    api_add_time(&query, "to", cli_value(call, "to"));
    if (buffer_overflowed(&query))
        return cli_misuse(err, "the options are too long together");
    do {
        if (read_page(call, buffer_string(&query), &after, &count, err) < 0)
            return -1;
        if (follows && !count)
            sleep(FOLLOW_S);
    } while ((follows || count) && !ferror(stdout));
    return 0;
}

int verb_logs(struct cli_call *call, struct error **err)
{
    return print_logs(call, NULL, err);
}

int verb_service_logs(struct cli_call *call, struct error **err)
{
    return print_logs(call, cli_operand(call, 1), err);
}

/* --- metrics --- */

const struct cli_option metrics_options[] = {
    {"from", 0, "TIME|DURATION", "from this time on: 2026-11-22T10:00:00Z, or 10m ago"},
    {"to", 0, "TIME|DURATION", "until this time, or this span ago"},
    {NULL, 0, NULL, NULL},
};

int verb_metrics(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {{"AT", "at"},
                                                   {"VCPUS", "vcpus_used"},
                                                   {"VCPUS MAX", "vcpus_used_max"},
                                                   {"MEMORY", "memory_used_bytes"},
                                                   {"MEMORY MAX", "memory_used_bytes_max"},
                                                   {"CACHE", "memory_cache_bytes"},
                                                   {"DISK", "disk_used_bytes"}};
    buffer_auto path = BUFFER_INIT(PATH_MAX_BYTES);
    json_auto_t *answer = NULL;
    buffer_append_string(&path, "/metrics");
    api_add_time(&path, "from", cli_value(call, "from"));
    api_add_time(&path, "to", cli_value(call, "to"));
    if (buffer_overflowed(&path))
        return cli_misuse(err, "the options are too long together");
    if (api_call_sandbox(call, "GET", buffer_string(&path), NULL, &answer, err) < 0)
        return -1;
    if (call->cli->json)
        output_object(call->cli, json_incref(answer));
    else
        output_rows(call->cli, "points", json_incref(json_object_get(answer, "points")), columns,
                    ARRAY_SIZE(columns));
    return 0;
}
