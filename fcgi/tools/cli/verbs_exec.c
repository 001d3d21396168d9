/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands and shells in a sandbox. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "cli/input.h"
#include "cli/remote.h"
#include "cli/verbs.h"

#define ENVIRONMENT_MAX (1024 * 1024)

const struct cli_option exec_options[] = {
    {"env", 'e', "NAME=VALUE", "an environment variable; may be repeated"},
    {"env-from", 0, "FILE", "a file of variables, as `env -0` prints them"},
    {"cwd", 'w', "PATH", "the working directory"},
    {"user", 'u', "USER", "a user of the sandbox"},
    {"tty", 't', NULL, "give the command a terminal"},
    {"no-stdin", 'n', NULL, "do not read standard input"},
    {"tell-left", 0, NULL, "first list the terminals that still run in the sandbox"},
    {NULL, 0, NULL, NULL},
};

const struct cli_option shell_options[] = {
    {"env", 'e', "NAME=VALUE", "an environment variable; may be repeated"},
    {"cwd", 'w', "PATH", "the working directory"},
    {"user", 'u', "USER", "a user of the sandbox"},
    {NULL, 0, NULL, NULL},
};

/* Programs on a terminal need its type and its character set. */
static json_t *terminal_environment(void)
{
    const char *kind = getenv("TERM");
    return json_pack("{s:s, s:s, s:s}", "TERM", kind && *kind ? kind : "xterm-256color", "LANG",
                     "C.UTF-8", "LC_ALL", "C.UTF-8");
}

static int add_variables_from(json_t *envs, const char *path, struct error **err)
{
    buffer_auto text = BUFFER_INIT(ENVIRONMENT_MAX);
    autofclose FILE *file = fopen(path, "re");
    char piece[4096];
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    for (size_t size; (size = fread(piece, 1, sizeof piece, file));)
        buffer_append(&text, piece, size);
    if (ferror(file) || buffer_overflowed(&text))
        return error_set(err, ERR_CONFIG, "cannot read %s, or it is too long", path);
    const char *at = buffer_string(&text);
    for (const char *end = at + text.size; at < end; at += strlen(at) + 1)
        if (input_pair(envs, at, err) < 0)
            return -1;
    return 0;
}

static int run(struct cli_call *call, json_t *process, bool terminal, struct error **err)
{
    json_auto_t *owned = process;
    session_auto session = {.id = NULL};
    json_t *envs = terminal ? terminal_environment() : json_object();
    const char *value;
    size_t at = 0;
    json_object_set_new(owned, "envs", envs);
    input_text(owned, "cwd", cli_value(call, "cwd"));
    const char *from = cli_value(call, "env-from");
    if (from && add_variables_from(envs, from, err) < 0)
        return -1;
    while ((value = cli_next_value(call, "env", &at)))
        if (input_pair(envs, value, err) < 0)
            return -1;
    const struct remote_program program = {
        .process = owned,
        .user = cli_value(call, "user"),
        .terminal = terminal,
        .with_input = !cli_flag(call, "no-stdin") && (terminal || !isatty(STDIN_FILENO)),
    };
    if (session_open(call->cli, cli_operand(call, 0), &session, err) < 0)
        return -1;
    if (terminal && (call->verb->run == verb_shell || cli_flag(call, "tell-left")))
        terminals_tell_left(call->cli, &session);
    return remote_run(call->cli, &session, &program, &call->cli->exit_code, err);
}

int verb_exec(struct cli_call *call, struct error **err)
{
    json_t *args = json_array();
    json_t *process = json_pack("{s:s, s:o}", "cmd", cli_operand(call, 1), "args", args);
    if (!process)
        return cli_misuse(err, "the command is not text in UTF-8");
    for (size_t i = 2; i < call->operand_count; i++) {
        if (json_array_append_new(args, json_string(call->operands[i])) == 0)
            continue;
        json_decref(process);
        return cli_misuse(err, "argument %zu of the command is not text in UTF-8", i - 1);
    }
    return run(call, process, cli_flag(call, "tty"), err);
}

int verb_shell(struct cli_call *call, struct error **err)
{
    return run(call,
               json_pack("{s:s, s:[s, s]}", "cmd", "/bin/sh", "args", "-c", REMOTE_LOGIN_SHELL),
               true, err);
}
