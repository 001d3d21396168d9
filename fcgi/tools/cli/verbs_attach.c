/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Terminals that keep running in a sandbox after their connection broke. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/output.h"
#include "cli/places.h"
#include "cli/remote.h"
#include "cli/verbs.h"

const struct cli_option attach_options[] = {
    {"list", 0, NULL, "only list the terminals of the sandbox"},
    {NULL, 0, NULL, NULL},
};

static json_t *describe(const json_t *process)
{
    const json_t *config = json_object_get(process, "config");
    const json_t *args = json_object_get(config, "args");
    const char *last = json_string_value(json_array_get(args, json_array_size(args) - 1));
    const char *command = json_string_value(json_object_get(config, "cmd"));
    const char *original =
        json_string_value(json_object_get(json_object_get(config, "envs"), "SSH_ORIGINAL_COMMAND"));
    return json_pack("{s:O, s:s, s:O}", "pid", json_object_get(process, "pid"), "command",
                     original                              ? original
                     : str_equal(last, REMOTE_LOGIN_SHELL) ? "shell"
                     : command                             ? command
                                                           : "",
                     "followed", json_object_get(process, "followed"));
}

/* A row for each terminal: "pid", "command", "followed" (whether somebody has it), the newest last.
 */
static int terminals_list(struct cli *cli, const struct session *session, json_t **rows,
                          struct error **err)
{
    json_auto_t *answer = NULL;
    const json_t *process;
    size_t i;
    if (remote_processes(cli, session, &answer, err) < 0)
        return -1;
    *rows = json_array();
    json_array_foreach (json_object_get(answer, "processes"), i, process) {
        const char *tag = json_string_value(json_object_get(process, "tag"));
        if (tag && str_starts_with(tag, REMOTE_TERMINAL_TAG) &&
            json_is_true(json_object_get(process, "terminal")))
            json_array_append_new(*rows, describe(process));
    }
    return 0;
}

/* Return the newest terminal without a client, or else the newest: its client may not have noticed
 * yet that its connection is gone. 0: no terminal. */
static int choose(const json_t *rows)
{
    int newest = 0, newest_left = 0;
    const json_t *row;
    size_t i;
    json_array_foreach (rows, i, row) {
        newest = (int)json_integer_value(json_object_get(row, "pid"));
        if (!json_is_true(json_object_get(row, "followed")))
            newest_left = newest;
    }
    return newest_left ? newest_left : newest;
}

static bool has_pid(const json_t *rows, uint64_t pid)
{
    const json_t *row;
    size_t i;
    json_array_foreach (rows, i, row)
        if ((uint64_t)json_integer_value(json_object_get(row, "pid")) == pid)
            return true;
    return false;
}

static int attach(struct cli_call *call, const struct session *session, const json_t *rows,
                  struct error **err)
{
    const char *word = cli_operand(call, 1);
    uint64_t pid = (uint64_t)choose(rows);
    if (word && str_parse_u64(word, 1, INT32_MAX, &pid) < 0)
        return cli_misuse(err, "'%s' is not a process", word);
    if (!pid || !has_pid(rows, pid))
        return error_set(err, ERR_NOT_FOUND,
                         "there is no such terminal, or it has ended; `sandlot attach --list "
                         "SANDBOX` lists them");
    const struct remote_program program = {.attach_pid = (int)pid, .terminal = true};
    return remote_run(call->cli, session, &program, &call->cli->exit_code, err);
}

int verb_attach(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {
        {"PID", "pid"}, {"COMMAND", "command"}, {"FOLLOWED", "followed"}};
    session_auto session = {.id = NULL};
    json_auto_t *rows = NULL;
    if (session_open(call->cli, cli_operand(call, 0), &session, err) < 0 ||
        terminals_list(call->cli, &session, &rows, err) < 0)
        return -1;
    if (!cli_flag(call, "list"))
        return attach(call, &session, rows, err);
    output_rows(call->cli, "terminals", json_incref(rows), columns, ARRAY_SIZE(columns));
    return 0;
}

void terminals_tell_left(struct cli *cli, const struct session *session)
{
    json_auto_t *rows = NULL;
    error_auto ignored = NULL;
    const json_t *row;
    size_t i;
    if (terminals_list(cli, session, &rows, &ignored) < 0)
        return;
    json_array_foreach (rows, i, row) {
        const char *command = json_string_value(json_object_get(row, "command"));
        autofree char *shown = printable(command ? command : "", "");
        if (!json_is_true(json_object_get(row, "followed")))
            fprintf(stderr, "A terminal is still running here: %s, process %d.\r\n", shown,
                    (int)json_integer_value(json_object_get(row, "pid")));
    }
}
