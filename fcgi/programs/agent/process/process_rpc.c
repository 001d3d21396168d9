/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/process_rpc.h"

#include <signal.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/common/proto.h"
#include "agent/framework/stream.h"
#include "base/str.h"

#define PID_MAX      0x7fffffff
#define PTY_SIDE_MAX 4096

int process_rpc_select(struct request *request, const json_t *message, bool ended,
                       struct process **process, struct fault *fault)
{
    const json_t *selector;
    const char *tag;
    int64_t pid;
    if (proto_object(message, "process", &selector, fault) < 0)
        return -1;
    if (!selector)
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "process is missing");
    if (proto_integer(selector, "pid", 0, PID_MAX, &pid, fault) < 0 ||
        proto_string(selector, "tag", &tag, fault) < 0)
        return -1;
    if (!pid && !*tag)
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "process must name a pid or a tag");
    *process = process_find(request->agent->processes, (pid_t)pid, tag, ended);
    if (!*process)
        return *tag ? fault_set(fault, FAULT_NOT_FOUND, "no process with tag '%s'", tag)
                    : fault_set(fault, FAULT_NOT_FOUND, "no process with pid %d", (int)pid);
    return 0;
}

static int connect_to(struct request *request, const json_t *message, struct fault *fault)
{
    struct process *process;
    struct stream *stream;
    if (process_rpc_select(request, message, true, &process, fault) < 0 ||
        stream_open(request, &process_stream_events, NULL, &stream, fault) < 0)
        return -1;
    process_follow_stream(process, stream, false);
    return 0;
}

static int list(struct request *request, const json_t *message, json_t **answer,
                struct fault *fault)
{
    (void)message;
    (void)fault;
    json_t *processes = json_array();
    const struct process *process;
    TAILQ_FOREACH(process, &request->agent->processes->live, link)
    {
        json_t *entry =
            json_pack("{s:O, s:i}", "config", process->config, "pid", (int)process->pid);
        if (process->tag)
            json_object_set_new(entry, "tag", json_string(process->tag));
        json_array_append_new(processes, entry);
    }
    *answer = json_pack("{s:o}", "processes", processes);
    return 0;
}

/* An enum by name or number. */
static int read_signal(const json_t *message, int *number, struct fault *fault)
{
    const json_t *field = proto_field(message, "signal");
    const char *name = json_string_value(field);
    if (str_equal(name, "SIGNAL_SIGKILL") || json_integer_value(field) == SIGKILL)
        *number = SIGKILL;
    else if (str_equal(name, "SIGNAL_SIGTERM") || json_integer_value(field) == SIGTERM)
        *number = SIGTERM;
    else
        return fault_set(fault, FAULT_INVALID_ARGUMENT,
                         "signal must be SIGNAL_SIGTERM or SIGNAL_SIGKILL");
    return 0;
}

static int send_signal(struct request *request, const json_t *message, json_t **answer,
                       struct fault *fault)
{
    struct process *process;
    int number = 0;
    if (read_signal(message, &number, fault) < 0 ||
        process_rpc_select(request, message, false, &process, fault) < 0 ||
        process_signal(process, number, fault) < 0)
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

int process_rpc_write(struct process *process, struct request *request, const json_t *input,
                      process_written *written, struct fault *fault)
{
    char *data;
    size_t size;
    const json_t *to_pty = proto_field(input, "pty");
    const json_t *bytes = to_pty ? to_pty : proto_field(input, "stdin");
    if (!bytes)
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "input must be stdin or pty");
    if (!to_pty == process->has_pty)
        return fault_set(fault, FAULT_INTERNAL, "the process has %s terminal",
                         process->has_pty ? "a" : "no");
    if (proto_bytes(bytes, to_pty ? "pty" : "stdin", &data, &size, fault) < 0)
        return -1;
    return process_write(process, request, written, data, size, fault);
}

static void on_sent(struct request *request, const struct fault *fault)
{
    request->state = NULL;
    if (fault)
        request_reply_fault(request, fault);
    else
        httpd_reply_json(&request->http, 200, json_object());
}

static int send_input(struct request *request, const json_t *message, json_t **answer,
                      struct fault *fault)
{
    struct process *process;
    const json_t *input;
    if (process_rpc_select(request, message, false, &process, fault) < 0 ||
        proto_object(message, "input", &input, fault) < 0)
        return -1;
    int rc = process_rpc_write(process, request, input, on_sent, fault);
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
                       struct fault *fault)
{
    struct process *process;
    if (process_rpc_select(request, message, false, &process, fault) < 0 ||
        process_close_input(process, fault) < 0)
        return -1;
    *answer = json_object();
    return 0;
}

static int update(struct request *request, const json_t *message, json_t **answer,
                  struct fault *fault)
{
    struct process *process;
    const json_t *pty, *size = NULL;
    int64_t cols, rows;
    if (process_rpc_select(request, message, false, &process, fault) < 0 ||
        proto_object(message, "pty", &pty, fault) < 0 ||
        (pty && proto_object(pty, "size", &size, fault) < 0) ||
        proto_integer(size, "cols", 0, PTY_SIDE_MAX, &cols, fault) < 0 ||
        proto_integer(size, "rows", 0, PTY_SIDE_MAX, &rows, fault) < 0)
        return -1;
    if (size && process_resize(process, (unsigned short)cols, (unsigned short)rows, fault) < 0)
        return -1;
    *answer = json_object();
    return 0;
}

const struct rpc process_rpc_connect = {.stream = connect_to};
const struct rpc process_rpc_list = {.unary = list};
const struct rpc process_rpc_send_signal = {.unary = send_signal};
const struct rpc process_rpc_send_input = {.unary = send_input, .closed = send_input_closed};
const struct rpc process_rpc_close_stdin = {.unary = close_stdin};
const struct rpc process_rpc_update = {.unary = update};
