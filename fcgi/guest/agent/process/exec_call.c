/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/exec_call.h"

#include <stdlib.h>
#include <string.h>

#include "agent/common/proto.h"
#include "base/mem.h"
#include "base/str.h"

#define SHELL "/bin/sh"

static const char *const fields[] = {"cmd",   "args",           "envs",    "cwd", "user",
                                     "stdin", "stdin_encoding", "timeout", NULL};

static int read_timeout(const json_t *message, int64_t *timeout_ms, struct rpc_error *error)
{
    const json_t *value = proto_field(message, "timeout");
    *timeout_ms = EXEC_TIMEOUT_DEFAULT_MS;
    if (!value)
        return 0;
    double seconds = json_number_value(value);
    if (!json_is_number(value) || seconds < 0.001 || seconds * 1000 > EXEC_TIMEOUT_MAX_MS)
        return rpc_error_set_field(error, "/timeout",
                                   "timeout must be a number of seconds above 0, at most %lld",
                                   EXEC_TIMEOUT_MAX_MS / 1000);
    *timeout_ms = (int64_t)(seconds * 1000 + 0.5);
    return 0;
}

static int read_input(const json_t *message, struct exec_call *call, struct rpc_error *error)
{
    const json_t *input = proto_field(message, "stdin");
    const char *text, *encoding;
    if (proto_string(message, "stdin", &text, error) < 0 ||
        proto_string(message, "stdin_encoding", &encoding, error) < 0)
        return -1;
    bool is_base64 = str_equal(encoding, "base64");
    if (*encoding && !is_base64 && !str_equal(encoding, "utf-8"))
        return rpc_error_set_field(error, "/stdin_encoding",
                                   "stdin_encoding must be utf-8 or base64");
    call->process.with_stdin = input;
    if (!input)
        return 0;
    if (is_base64)
        return proto_bytes(input, "stdin", &call->input, &call->input_size, error);
    call->input = xstrdup(text);
    call->input_size = strlen(text);
    return 0;
}

static void choose_shell(struct exec_call *call)
{
    call->args = json_pack("[s, s]", "-c", call->process.command);
    call->process.args = call->args;
    call->process.command = SHELL;
}

int exec_call_read(const json_t *message, struct exec_call *call, struct rpc_error *error)
{
    struct process_call *process = &call->process;
    *call = (struct exec_call){.args = NULL};
    if (proto_check_names(message, fields, error) < 0 ||
        proto_string(message, "cmd", &process->command, error) < 0 ||
        proto_array(message, "args", &process->args, error) < 0 ||
        proto_object(message, "envs", &process->envs, error) < 0 ||
        proto_string(message, "cwd", &process->cwd, error) < 0 ||
        proto_string(message, "user", &call->user, error) < 0 ||
        read_input(message, call, error) < 0 || read_timeout(message, &call->timeout_ms, error) < 0)
        return -1;
    if (!*process->command)
        return proto_missing(message, "cmd", error);
    if (!process->args)
        choose_shell(call);
    return process_call_check(process, error);
}

void exec_call_deinit(struct exec_call *call)
{
    json_decref(call->args);
    free(call->input);
}
