/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sandboxes and their life. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/state_words.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/verbs.h"

#define WATCH_S 2

static const struct output_column sandbox_columns[] = {
    {"NAME", "name"},         {"ID", "id"},
    {"TEAM", "team"},         {"STATE", "state"},
    {"UNTIL", "deadline"},    {"CREATED", "created_at"},
    {"CPU", "cpu"},           {"MEMORY", "memory_mb"},
    {"TEMPLATE", "template"},
};

/* In tables the state is the word that the console shows too; JSON has the API's value. */
static void show_word(const struct cli *cli, json_t *sandbox)
{
    const char *state = json_string_value(json_object_get(sandbox, "state"));
    if (state && !cli->json)
        json_object_set_new(sandbox, "state", json_string(state_word(state)));
}

static void show_sandbox(const struct cli *cli, json_t *sandbox, const char *key)
{
    show_word(cli, sandbox);
    if (key)
        output_result(cli, sandbox, key);
    else
        output_object(cli, sandbox);
}

/* --- create --- */

const struct cli_option create_options[] = {
    {"name", 'n', "NAME",
     "name of the sandbox, unique in the team; commands accept it in place of the id"},
    {"team", 0, "TEAM", "team of the sandbox; default: your personal team"},
    {"timeout", 't', "DURATION", "time until its deadline: 300, 30m, 2h, 1d; default: 5m"},
    {"on-timeout", 0, "kill|pause", "delete or pause it at its deadline; default: kill"},
    {"auto-resume", 0, NULL, "a request resumes it (with --on-timeout pause or --idle-timeout)"},
    {"idle-timeout", 0, "DURATION", "pause it after this idle time"},
    {"cpu", 0, "COUNT", "processors; default: the template's"},
    {"memory", 'm', "MIB", "memory; default: the template's"},
    {"env", 'e', "NAME=VALUE", "an environment variable; may be repeated"},
    {"label", 'l', "NAME=VALUE", "a metadata entry; may be repeated"},
    {"port", 'p', "PORT[:public][:https]",
     "a port to expose, private without :public; https: its server speaks TLS; may be repeated"},
    {"all-ports", 0, NULL, "expose every port, to everybody"},
    {"request-host", 0, "HOST", "the Host header that servers get, such as 'localhost:${PORT}'"},
    {"volume", 'v', "VOLUME:PATH", "a volume to mount; may be repeated"},
    {"services", 0, "FILE", "services, a JSON array"},
    {"hooks", 0, "FILE", "hooks, a JSON object"},
    {"checkpoint", 0, "CHECKPOINT", "start from a checkpoint instead of a template"},
    NETWORK_OPTIONS,
    {NULL, 0, NULL, NULL},
};

static int add_volume(json_t *mounts, const char *value, struct error **err)
{
    const char *colon = strchr(value, ':');
    if (!colon || colon == value || colon[1] != '/')
        return cli_misuse(err, "write --volume as NAME:/PATH, not '%s'", value);
    autofree char *name = xstrndup(value, (size_t)(colon - value));
    json_object_set_new(mounts, colon + 1, json_string(name));
    return 0;
}

static int add_port(json_t *ports, const char *value, struct error **err)
{
    uint64_t port;
    autofree char *number = xstrndup(value, strcspn(value, ":"));
    const char *mode = value + strlen(number);
    if (str_parse_u64(number, 1, UINT16_MAX, &port) < 0 ||
        (*mode && !str_is_choice(":public|:private|:https|:public:https|:private:https", mode)))
        return cli_misuse(err, "write --port as PORT, PORT:public or PORT:public:https, not '%s'",
                          value);
    json_array_append_new(ports, json_pack("{s:I, s:b, s:s}", "port", (json_int_t)port, "public",
                                           str_starts_with(mode, ":public"), "protocol",
                                           str_ends_with(mode, ":https") ? "https" : "http"));
    return 0;
}

static int add_all(const struct cli_call *call, const char *option, json_t *body,
                   const char *member, json_t *values,
                   int (*add)(json_t *values, const char *value, struct error **err),
                   struct error **err)
{
    json_auto_t *owned = values;
    const char *value;
    size_t at = 0, count = 0;
    for (; (value = cli_next_value(call, option, &at)); count++)
        if (add(owned, value, err) < 0)
            return -1;
    if (count)
        json_object_set(body, member, owned);
    return 0;
}

static int add_lifecycle(const struct cli_call *call, json_t *body, struct error **err)
{
    json_auto_t *lifecycle = json_object();
    const char *on_timeout = cli_value(call, "on-timeout");
    if (on_timeout && !str_is_choice("kill|pause", on_timeout))
        return cli_misuse(err, "--on-timeout must be kill or pause, not '%s'", on_timeout);
    if (on_timeout)
        json_object_set_new(lifecycle, "on_timeout", json_string(on_timeout));
    if (cli_flag(call, "auto-resume"))
        json_object_set_new(lifecycle, "auto_resume", json_true());
    if (input_duration(lifecycle, "idle_timeout", cli_value(call, "idle-timeout"), err) < 0)
        return -1;
    if (json_object_size(lifecycle))
        json_object_set(body, "lifecycle", lifecycle);
    return 0;
}

static int make_body(const struct cli_call *call, json_t *body, struct error **err)
{
    input_text(body, "name", cli_value(call, "name"));
    input_text(body, "template", cli_operand(call, 0));
    input_text(body, "team", cli_value(call, "team"));
    input_text(body, "snapshot_id", cli_value(call, "checkpoint"));
    if (input_duration(body, "timeout", cli_value(call, "timeout"), err) < 0 ||
        input_number(body, "cpu", cli_value(call, "cpu"), "--cpu", err) < 0 ||
        input_number(body, "memory_mb", cli_value(call, "memory"), "--memory", err) < 0 ||
        add_lifecycle(call, body, err) < 0 ||
        add_all(call, "label", body, "metadata", json_object(), input_pair, err) < 0 ||
        add_all(call, "env", body, "envs", json_object(), input_pair, err) < 0 ||
        input_json(body, "services", cli_value(call, "services"), JSON_ARRAY, err) < 0 ||
        input_json(body, "hooks", cli_value(call, "hooks"), JSON_OBJECT, err) < 0 ||
        add_all(call, "volume", body, "volume_mounts", json_object(), add_volume, err) < 0 ||
        add_all(call, "port", body, "exposed_ports", json_array(), add_port, err) < 0)
        return -1;
    if (cli_flag(call, "all-ports"))
        json_object_set_new(body, "expose_all_ports", json_true());
    input_text(body, "mask_request_host", cli_value(call, "request-host"));
    return input_network(call, body, err);
}

int verb_create(struct cli_call *call, struct error **err)
{
    json_auto_t *body = json_object();
    json_t *sandbox;
    if (make_body(call, body, err) < 0 ||
        api_call(call->cli, "POST", "/v1/sandboxes", json_incref(body), &sandbox, err) < 0)
        return -1;
    output_result(call->cli, sandbox, "id");
    return 0;
}

/* --- list --- */

#define STATES "creating|running|resuming|checkpointing|pausing|paused|copying"

const struct cli_option list_options[] = {
    {"team", 0, "TEAM", "only those of this team"},
    {"state", 's', STATES, "only those in this state; may be repeated"},
    {"label", 'l', "NAME=VALUE", "only those with this metadata; may be repeated"},
    {"watch", 'w', NULL, "show it again every two seconds"},
    {NULL, 0, NULL, NULL},
};

static int list_path(const struct cli_call *call, struct buffer *path, struct error **err)
{
    const char *value;
    size_t states = 0, labels = 0;
    buffer_append_string(path, "/v1/sandboxes");
    api_add_query(path, "team", cli_value(call, "team"));
    while ((value = cli_next_value(call, "state", &states))) {
        if (!str_is_choice(STATES, state_word(value)))
            return cli_misuse(err, "--state must be one of %s, not '%s'", STATES, value);
        api_add_query(path, "query[state][]", state_of_word(value));
    }
    while ((value = cli_next_value(call, "label", &labels))) {
        const char *equals = strchr(value, '=');
        if (!equals || equals == value)
            return cli_misuse(err, "write --label as NAME=VALUE, not '%s'", value);
        autofree char *name = xasprintf("query[metadata][%.*s]", (int)(equals - value), value);
        api_add_query(path, name, equals + 1);
    }
    return 0;
}

int verb_list(struct cli_call *call, struct error **err)
{
    buffer_auto path = BUFFER_INIT(65536);
    bool watched = cli_flag(call, "watch");
    if (list_path(call, &path, err) < 0)
        return -1;
    do {
        size_t index;
        json_t *rows, *row;
        if (api_list(call->cli, buffer_string(&path), "sandboxes", &rows, err) < 0)
            return -1;
        json_array_foreach (rows, index, row)
            show_word(call->cli, row);
        if (watched && isatty(STDOUT_FILENO))
            printf("\033[H\033[2J");
        output_rows(call->cli, "sandboxes", rows, sandbox_columns, ARRAY_SIZE(sandbox_columns));
        output_flush();
        if (watched)
            sleep(WATCH_S);
    } while (watched && !ferror(stdout));
    return 0;
}

/* --- one sandbox --- */

int verb_show(struct cli_call *call, struct error **err)
{
    json_t *sandbox;
    if (api_call_sandbox(call, "GET", "", NULL, &sandbox, err) < 0)
        return -1;
    show_sandbox(call->cli, sandbox, NULL);
    return 0;
}

int verb_pause(struct cli_call *call, struct error **err)
{
    json_t *sandbox;
    if (api_call_sandbox(call, "POST", "/pause", NULL, &sandbox, err) < 0)
        return -1;
    show_sandbox(call->cli, sandbox, "state");
    return 0;
}

const struct cli_option resume_options[] = {
    {"timeout", 't', "DURATION", "time from now until its deadline; default: the sandbox's own"},
    {NULL, 0, NULL, NULL},
};

int verb_resume(struct cli_call *call, struct error **err)
{
    json_auto_t *body = json_object();
    json_auto_t *answer = NULL;
    if (input_duration(body, "timeout", cli_value(call, "timeout"), err) < 0 ||
        api_call_sandbox(call, "POST", "/resume", json_object_size(body) ? json_incref(body) : NULL,
                         &answer, err) < 0)
        return -1;
    output_result(call->cli, json_incref(json_object_get(answer, "sandbox")), "resumed_from");
    return 0;
}

int verb_timeout(struct cli_call *call, struct error **err)
{
    json_auto_t *body = json_object();
    json_t *sandbox;
    if (input_duration(body, "timeout", cli_operand(call, 1), err) < 0 ||
        api_call_sandbox(call, "PATCH", "", json_incref(body), &sandbox, err) < 0)
        return -1;
    output_result(call->cli, sandbox, "deadline");
    return 0;
}

/* One that does not run gets the time when it is resumed, if that is more than it has. */
static int raise_timeout(struct cli_call *call, json_t *sandbox, const json_t *body,
                         struct error **err)
{
    json_int_t wanted_s = json_integer_value(json_object_get(body, "timeout"));
    if (wanted_s > json_integer_value(json_object_get(sandbox, "timeout")))
        return verb_timeout(call, err);
    show_sandbox(call->cli, json_incref(sandbox), "deadline");
    return 0;
}

int verb_extend(struct cli_call *call, struct error **err)
{
    json_auto_t *sandbox = NULL;
    json_auto_t *answer = NULL;
    json_auto_t *body = json_pack("{s:b}", "extend_only", true);
    if (input_duration(body, "timeout", cli_operand(call, 1), err) < 0 ||
        api_call_sandbox(call, "GET", "", NULL, &sandbox, err) < 0)
        return -1;
    const char *state = json_string_value(json_object_get(sandbox, "state"));
    if (!state || !str_is_choice("ready|checkpointing", state))
        return raise_timeout(call, sandbox, body, err);
    if (api_call_sandbox(call, "POST", "/connect", json_incref(body), &answer, err) < 0)
        return -1;
    output_result(call->cli, json_incref(json_object_get(answer, "sandbox")), "deadline");
    return 0;
}

int verb_rollback(struct cli_call *call, struct error **err)
{
    json_t *sandbox;
    if (api_call_sandbox(call, "POST", "/rollback",
                         json_pack("{s:s}", "checkpoint", cli_operand(call, 1)), &sandbox, err) < 0)
        return -1;
    output_result(call->cli, sandbox, "resumed_from");
    return 0;
}

int verb_hold(struct cli_call *call, struct error **err)
{
    json_auto_t *body = json_object();
    json_t *sandbox;
    if (input_duration(body, "seconds", cli_operand(call, 1), err) < 0 ||
        api_call_sandbox(call, "PUT", "/hold", json_incref(body), &sandbox, err) < 0)
        return -1;
    output_result(call->cli, sandbox, "hold_until");
    return 0;
}

int verb_release(struct cli_call *call, struct error **err)
{
    json_t *sandbox;
    if (api_call_sandbox(call, "DELETE", "/hold", NULL, &sandbox, err) < 0)
        return -1;
    show_sandbox(call->cli, sandbox, "state");
    return 0;
}

int verb_rename(struct cli_call *call, struct error **err)
{
    const char *name = cli_operand(call, 1);
    json_t *sandbox;
    if (api_call_sandbox(call, "PATCH", "", json_pack("{s:s?}", "name", name), &sandbox, err) < 0)
        return -1;
    output_result(call->cli, sandbox, "name|id");
    return 0;
}

/* --- forks --- */

const struct cli_option fork_options[] = {
    {"count", 'n', "NUMBER", "number of copies; default: 1"},
    {"name", 0, "NAME", "name of the copy, if you make one; default: none"},
    {"timeout", 't', "DURATION", "time until the deadline of each copy; default: the original's"},
    {NULL, 0, NULL, NULL},
};

/* The ids of those that were made, a line each; an error for the first that was not. */
static int print_forks(const struct cli *cli, const json_t *forks, struct error **err)
{
    const json_t *failure = NULL;
    size_t i;
    json_t *made;
    json_array_foreach ((json_t *)forks, i, made) {
        const json_t *sandbox = json_object_get(made, "sandbox");
        const char *id = json_string_value(json_object_get(sandbox, "id"));
        if (id && !cli->json)
            puts(id);
        else if (!id && !failure)
            failure = json_object_get(made, "error");
    }
    const char *message = json_string_value(json_object_get(failure, "message"));
    return message
               ? error_set(err, ERR_NO_CAPACITY, "some copies could not be created: %s", message)
               : 0;
}

int verb_fork(struct cli_call *call, struct error **err)
{
    json_auto_t *body = json_object();
    json_auto_t *answer = NULL;
    input_text(body, "name", cli_value(call, "name"));
    if (input_number(body, "count", cli_value(call, "count"), "--count", err) < 0 ||
        input_duration(body, "timeout", cli_value(call, "timeout"), err) < 0 ||
        api_call_sandbox(call, "POST", "/fork", json_incref(body), &answer, err) < 0)
        return -1;
    if (call->cli->json)
        output_object(call->cli, json_incref(answer));
    return print_forks(call->cli, json_object_get(answer, "forks"), err);
}

int verb_rm(struct cli_call *call, struct error **err)
{
    for (size_t i = 0; i < call->operand_count; i++) {
        autofree char *id = NULL;
        if (api_sandbox_id(call->cli, call->operands[i], &id, err) < 0)
            return -1;
        autofree char *path = api_path("/v1/sandboxes/", "", id);
        if (api_call(call->cli, "DELETE", path, NULL, NULL, err) < 0)
            return error_context(err, "%s", call->operands[i]);
    }
    return 0;
}
