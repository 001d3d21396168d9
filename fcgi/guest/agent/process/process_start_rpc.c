/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.Process/Start: the one method with a large request. */
#include "agent/agent.h"
#include "agent/common/proto.h"
#include "agent/framework/stream.h"
#include "agent/process/process_launch.h"
#include "agent/process/process_messages.h"
#include "agent/process/process_rpc.h"

#define PTY_SIDE_MAX     4096
#define PTY_COLS_DEFAULT 80
#define PTY_ROWS_DEFAULT 24

static int read_pty(const json_t *message, struct process_call *start, struct rpc_error *error)
{
    const json_t *pty, *size = NULL;
    if (proto_object(message, "pty", &pty, error) < 0)
        return -1;
    start->with_pty = pty;
    if (!pty)
        return 0;
    if (proto_object(pty, "size", &size, error) < 0)
        return rpc_error_within(error, "pty");
    if (proto_integer(size, "cols", 0, PTY_SIDE_MAX, &start->cols, error) < 0 ||
        proto_integer(size, "rows", 0, PTY_SIDE_MAX, &start->rows, error) < 0)
        return rpc_error_within(error, "pty/size");
    if (!start->cols)
        start->cols = PTY_COLS_DEFAULT;
    if (!start->rows)
        start->rows = PTY_ROWS_DEFAULT;
    return 0;
}

static int read_request(const json_t *message, struct process_call *start, struct rpc_error *error)
{
    const json_t *process;
    if (proto_object(message, "process", &process, error) < 0)
        return -1;
    if (!process)
        return proto_missing(message, "process", error);
    if (proto_string(process, "cmd", &start->command, error) < 0 ||
        proto_array(process, "args", &start->args, error) < 0 ||
        proto_object(process, "envs", &start->envs, error) < 0 ||
        proto_string(process, "cwd", &start->cwd, error) < 0 ||
        process_call_check(start, error) < 0)
        return rpc_error_within(error, "process");
    if (proto_string(message, "tag", &start->tag, error) < 0 ||
        proto_bool(message, "stdin", true, &start->with_stdin, error) < 0)
        return -1;
    return read_pty(message, start, error);
}

static int launch(struct request *request, const struct process_call *call,
                  struct process **process, struct rpc_error *error)
{
    user_auto user = {.name = NULL};
    if (rpc_user(request, &user, error) < 0)
        return -1;
    return process_launch(request->agent, &user, call, process, error) < 0
               ? rpc_error_within(error, "process")
               : 0;
}

static int start_process(struct request *request, const json_t *message, struct rpc_error *error)
{
    struct process_call start = {.command = NULL};
    struct process *process;
    struct stream *stream;
    int64_t limit_ms;
    if (rpc_timeout_ms(request, &limit_ms, error) < 0 || read_request(message, &start, error) < 0 ||
        launch(request, &start, &process, error) < 0)
        return -1;
    if (stream_open(request, &process_stream_events, NULL, &stream, error) < 0) {
        process_kill(process);
        return -1;
    }
    if (limit_ms) /* after the stream's, so that the client learns of the limit first */
        process_limit(process, limit_ms);
    process_follow_stream(process, stream, NULL);
    return 0;
}

const struct rpc process_rpc_start = {
    .stream = start_process, .request = &process_message_start, .answer = &process_message_event};
