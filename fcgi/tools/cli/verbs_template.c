/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates, from which sandboxes start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/verbs.h"

#define FOLLOW_S 1

const struct cli_option template_options[] = {
    {"team", 0, "TEAM", "team of the template; default: your personal team"},
    {NULL, 0, NULL, NULL},
};

/* Return "/v1/templates/SLUG", the rest of the path and the team; the caller frees it. */
static char *template_path(const struct cli_call *call, const char *behind)
{
    const char *team = cli_value(call, "team");
    autofree char *path = api_path("/v1/templates/", behind, cli_operand(call, 0));
    autofree char *query = api_path("?team=", "", team ? team : "");
    return xasprintf("%s%s", path, team ? query : "");
}

int verb_template_list(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {{"NAME", "slug"},
                                                   {"TEAM", "team"},
                                                   {"VERSION", "latest_version"},
                                                   {"MIB", "size_mb"},
                                                   {"CREATED", "created_at"}};
    const char *team = cli_value(call, "team");
    autofree char *path = api_path("/v1/templates?team=", "", team ? team : "");
    return output_answer(call->cli, team ? path : "/v1/templates", "templates", columns,
                         ARRAY_SIZE(columns), err);
}

int verb_template_show(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {
        {"VERSION", "version"},
        {"ID", "id"},
        {"STATE", "state"},
        {"CPU", "runtime_baseline.cpu"},
        {"MEMORY", "runtime_baseline.memory_mb"},
        {"TAGS", "tags"},
        {"MIB", "size_mb"},
        {"CREATED", "created_at"},
    };
    autofree char *path = template_path(call, "/versions");
    return output_answer(call->cli, path, "versions", columns, ARRAY_SIZE(columns), err);
}

/* --- logs --- */

const struct cli_option template_log_options[] = {
    {"team", 0, "TEAM", "team of the template; default: your personal team"},
    {"follow", 'f', NULL, "print new lines until the build has ended"},
    {NULL, 0, NULL, NULL},
};

static void print_more(const char *log)
{
    autofree char *more = printable(log, "\n\t");
    if (*log)
        progress_end();
    fputs(isatty(STDOUT_FILENO) ? more : log, stdout);
    output_flush();
}

static void show_progress(const json_t *steps)
{
    size_t at, done = 0;
    json_t *step, *running = NULL;
    json_array_foreach ((json_t *)(uintptr_t)steps, at, step) {
        const char *state = json_string_value(json_object_get(step, "state"));
        done += state && str_equal(state, "done");
        if (state && str_equal(state, "running"))
            running = step;
    }
    const char *title = json_string_value(json_object_get(running, "title"));
    autofree char *text = printable(title ? title : "", "");
    progress_show_steps(done, json_array_size(steps), text,
                        json_number_value(json_object_get(running, "seconds")));
}

int template_print_log(struct cli_call *call, const char *version, bool follow, struct error **err)
{
    autofree char *behind = api_path("/versions/", "", version);
    autofree char *path = template_path(call, behind);
    json_int_t end = 0;
    for (;;) {
        json_auto_t *answer = NULL;
        autofree char *rest =
            xasprintf("%s%clog_offset=%lld", path, strchr(path, '?') ? '&' : '?', (long long)end);
        if (api_call(call->cli, "GET", rest, NULL, &answer, err) < 0)
            return -1;
        const char *log = json_string_value(json_object_get(answer, "log"));
        const char *state = json_string_value(json_object_get(answer, "state"));
        print_more(log ? log : "");
        end = json_integer_value(json_object_get(answer, "log_end"));
        if (follow && str_equal(state, "building"))
            show_progress(json_object_get(answer, "steps"));
        else
            progress_end();
        if (str_equal(state, "failed"))
            return error_set(err, ERR_INTERNAL, "the build of version %s failed", version);
        if (!follow || !str_equal(state, "building"))
            return 0;
        sleep(FOLLOW_S);
    }
}

int verb_template_log(struct cli_call *call, struct error **err)
{
    const char *version = cli_operand(call, 1);
    autofree char *latest = NULL;
    if (!version) {
        json_auto_t *answer = NULL;
        autofree char *path = template_path(call, "/versions");
        json_int_t highest = 0;
        size_t index;
        json_t *row;
        if (api_call(call->cli, "GET", path, NULL, &answer, err) < 0)
            return -1;
        json_array_foreach (json_object_get(answer, "versions"), index, row) {
            json_int_t number = json_integer_value(json_object_get(row, "version"));
            highest = number > highest ? number : highest;
        }
        version = latest = xasprintf("%lld", (long long)highest);
    }
    return template_print_log(call, version, cli_flag(call, "follow"), err);
}

int verb_template_tag(struct cli_call *call, struct error **err)
{
    autofree char *behind = api_path("/tags/", "", cli_operand(call, 1));
    autofree char *path = api_path("/v1/templates/", behind, cli_operand(call, 0));
    json_t *body = json_object();
    input_text(body, "team", cli_value(call, "team"));
    if (input_number(body, "version", cli_operand(call, 2), "VERSION", err) < 0) {
        json_decref(body);
        return -1;
    }
    return api_call(call->cli, "PUT", path, body, NULL, err);
}

int verb_template_untag(struct cli_call *call, struct error **err)
{
    autofree char *behind = api_path("/tags/", "", cli_operand(call, 1));
    autofree char *path = template_path(call, behind);
    return api_call(call->cli, "DELETE", path, NULL, NULL, err);
}

int verb_template_rm(struct cli_call *call, struct error **err)
{
    const char *version = cli_operand(call, 1);
    autofree char *behind = version ? api_path("/versions/", "", version) : xstrdup("");
    autofree char *path = template_path(call, behind);
    return api_call(call->cli, "DELETE", path, NULL, NULL, err);
}
