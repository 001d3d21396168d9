/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/process_rpc.h"

#include <signal.h>

#include "agent/agent.h"
#include "agent/common/proto.h"
#include "agent/framework/rpc_answer.h"
#include "agent/framework/stream.h"
#include "agent/process/process_io.h"
#include "agent/process/process_messages.h"
#include "base/mem.h"
#include "base/str.h"

#define PID_MAX      0x7fffffff
#define PTY_SIDE_MAX 4096

int process_rpc_select(struct request *request, const json_t *message, bool ended,
                       struct process **process, struct rpc_error *error)
{
    const json_t *selector;
    const char *tag;
    int64_t pid;
    if (proto_object(message, "process", &selector, error) < 0)
        return -1;
    if (!selector)
        return proto_missing(message, "process", error);
    if (proto_integer(selector, "pid", 0, PID_MAX, &pid, error) < 0 ||
        proto_string(selector, "tag", &tag, error) < 0)
        return rpc_error_within(error, "process");
    if (!pid && !*tag)
        return rpc_error_set_field(error, "/process", "process must have a pid or a tag");
    *process = process_find(request->agent->processes, (pid_t)pid, tag, ended);
    if (!*process)
        return *tag ? rpc_error_set(error, RPC_NOT_FOUND, "no process with tag '%s'", tag)
                    : rpc_error_set(error, RPC_NOT_FOUND, "no process with pid %d", (int)pid);
    return 0;
}

/* The member resumeFrom; without it *resume is NULL. In the JSON form of a message 0 is absent. */
static int read_resume(const json_t *message, struct process_resume *room,
                       struct process_resume **resume, struct rpc_error *error)
{
    static const char *const names[] = {
        [PROCESS_STDOUT] = "stdout", [PROCESS_STDERR] = "stderr", [PROCESS_PTY] = "pty"};
    const json_t *given;
    if (proto_object(message, "resumeFrom", &given, error) < 0)
        return -1;
    *resume = given ? room : NULL;
    for (size_t i = 0; given && i < ARRAY_SIZE(names); i++) {
        int64_t offset;
        if (proto_integer(given, names[i], 0, INT64_MAX, &offset, error) < 0)
            return rpc_error_within(error, "resumeFrom");
        room->offsets[i] = (uint64_t)offset;
    }
    return 0;
}

static int connect_to(struct request *request, const json_t *message, struct rpc_error *error)
{
    struct process *process;
    struct stream *stream;
    struct process_resume room = {{0}}, *resume;
    bool take_over;
    if (proto_bool(message, "takeOver", false, &take_over, error) < 0 ||
        process_rpc_select(request, message, true, &process, error) < 0 ||
        read_resume(message, &room, &resume, error) < 0 ||
        (resume && process_check_resume(process, resume, error) < 0) ||
        stream_open(request, &process_stream_events, NULL, &stream, error) < 0)
        return -1;
    if (take_over)
        process_displace(process);
    process_follow_stream(process, stream, resume);
    if (take_over) /* one that was sent away may have been slow */
        process_io_resume(process);
    return 0;
}

static int list(struct request *request, const json_t *message, json_t **answer,
                struct rpc_error *error)
{
    json_t *processes = json_array();
    const struct process *process;
    bool details;
    if (proto_bool(message, "details", false, &details, error) < 0) {
        json_decref(processes);
        return -1;
    }
    TAILQ_FOREACH(process, &request->agent->processes->live, link)
    {
        json_t *entry =
            json_pack("{s:O, s:i}", "config", process->config, "pid", (int)process->pid);
        if (process->tag)
            json_object_set_new(entry, "tag", json_string(process->tag));
        if (details)
            json_object_update_new(entry, json_pack("{s:b, s:b}", "terminal", process->has_pty,
                                                    "followed", !LIST_EMPTY(&process->followers)));
        json_array_append_new(processes, entry);
    }
    *answer = json_pack("{s:o}", "processes", processes);
    return 0;
}

/* An enum by name or number. */
static int read_signal(const json_t *message, int *number, struct rpc_error *error)
{
    const json_t *field = proto_field(message, "signal");
    static const struct {
        const char *name;
        int number;
    } signals[] = {
        {"SIGNAL_SIGTERM", SIGTERM}, {"SIGNAL_SIGKILL", SIGKILL}, {"SIGNAL_SIGHUP", SIGHUP},
        {"SIGNAL_SIGINT", SIGINT},   {"SIGNAL_SIGQUIT", SIGQUIT}, {"SIGNAL_SIGUSR1", SIGUSR1},
        {"SIGNAL_SIGUSR2", SIGUSR2},
    };
    const char *name = json_string_value(field);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (str_equal(name, signals[i].name) || json_integer_value(field) == signals[i].number) {
            *number = signals[i].number;
            return 0;
        }
    return rpc_error_set_field(
        error, "/signal",
        "signal must be SIGNAL_SIGTERM, SIGNAL_SIGKILL, SIGNAL_SIGHUP, SIGNAL_SIGINT, "
        "SIGNAL_SIGQUIT, SIGNAL_SIGUSR1 or SIGNAL_SIGUSR2");
}

static int send_signal(struct request *request, const json_t *message, json_t **answer,
                       struct rpc_error *error)
{
    struct process *process;
    int number = 0;
    if (read_signal(message, &number, error) < 0 ||
        process_rpc_select(request, message, false, &process, error) < 0 ||
        process_signal(process, number, error) < 0)
        return -1;
    *answer = json_object();
    return 0;
}

static void on_writer_gone(struct request *request)
{
    if (request->state)
        process_forget_writer(request->state, request);
    request->state = NULL;
    httpd_resume(&request->http);
}

int process_rpc_write_bytes(struct process *process, struct request *request, bool to_pty,
                            char *data, size_t size, process_written *written,
                            struct rpc_error *error)
{
    if (to_pty == process->has_pty)
        return process_write(process, request, written, data, size, error);
    free(data);
    return rpc_error_set(error, RPC_INTERNAL, "the process has %s terminal",
                         process->has_pty ? "a" : "no");
}

int process_rpc_write(struct process *process, struct request *request, const json_t *input,
                      process_written *written, struct rpc_error *error)
{
    char *data;
    size_t size;
    const json_t *to_pty = proto_field(input, "pty");
    const json_t *bytes = to_pty ? to_pty : proto_field(input, "stdin");
    if (!bytes)
        return rpc_error_set_field(error, "/input", "input must be stdin or pty");
    if (proto_bytes(bytes, to_pty ? "pty" : "stdin", &data, &size, error) < 0)
        return rpc_error_within(error, "input");
    return process_rpc_write_bytes(process, request, to_pty, data, size, written, error);
}

static void on_sent(struct request *request, const struct rpc_error *error)
{
    request->state = NULL;
    if (error)
        request_reply_error(request, error);
    else
        rpc_reply(request, json_object());
}

static int send_input(struct request *request, const json_t *message, json_t **answer,
                      struct rpc_error *error)
{
    struct process *process;
    const json_t *input;
    if (process_rpc_select(request, message, false, &process, error) < 0 ||
        proto_object(message, "input", &input, error) < 0)
        return -1;
    int rc = process_rpc_write(process, request, input, on_sent, error);
    if (rc == 0) {
        *answer = json_object();
    } else if (rc > 0) {
        request->state = process;
        httpd_suspend(&request->http);
        request_watch_peer(request, on_writer_gone);
    }
    return rc < 0 ? -1 : 0;
}

static void send_input_closed(struct request *request)
{
    if (request->state)
        process_forget_writer(request->state, request);
}

static int close_stdin(struct request *request, const json_t *message, json_t **answer,
                       struct rpc_error *error)
{
    struct process *process;
    if (process_rpc_select(request, message, false, &process, error) < 0 ||
        process_close_input(process, error) < 0)
        return -1;
    *answer = json_object();
    return 0;
}

static int update(struct request *request, const json_t *message, json_t **answer,
                  struct rpc_error *error)
{
    struct process *process;
    const json_t *pty, *size = NULL;
    int64_t cols, rows;
    if (process_rpc_select(request, message, false, &process, error) < 0 ||
        proto_object(message, "pty", &pty, error) < 0)
        return -1;
    if (pty && proto_object(pty, "size", &size, error) < 0)
        return rpc_error_within(error, "pty");
    if (proto_integer(size, "cols", 0, PTY_SIDE_MAX, &cols, error) < 0 ||
        proto_integer(size, "rows", 0, PTY_SIDE_MAX, &rows, error) < 0)
        return rpc_error_within(error, "pty/size");
    if (size && process_resize(process, (unsigned short)cols, (unsigned short)rows, error) < 0)
        return -1;
    *answer = json_object();
    return 0;
}

const struct rpc process_rpc_connect = {
    .stream = connect_to, .request = &process_message_selected, .answer = &process_message_event};
const struct rpc process_rpc_list = {
    .unary = list, .request = &process_message_empty, .answer = &process_message_list};
const struct rpc process_rpc_send_signal = {
    .unary = send_signal, .request = &process_message_signal, .answer = &process_message_empty};
const struct rpc process_rpc_send_input = {.unary = send_input,
                                           .closed = send_input_closed,
                                           .request = &process_message_input,
                                           .answer = &process_message_empty};
const struct rpc process_rpc_close_stdin = {
    .unary = close_stdin, .request = &process_message_selected, .answer = &process_message_empty};
const struct rpc process_rpc_update = {
    .unary = update, .request = &process_message_update, .answer = &process_message_empty};
