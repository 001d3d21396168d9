/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process.Process/StreamInput: the one call whose request is a stream. Its messages are taken one
 * by one as they come; while the program has not read one, the connection waits, so a client is as
 * slow as the program reads.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/common/gunzip.h"
#include "agent/common/proto.h"
#include "agent/framework/envelope.h"
#include "agent/framework/rpc_answer.h"
#include "agent/process/process_messages.h"
#include "agent/process/process_rpc.h"
#include "base/mem.h"

/* Received data that is not taken yet: a message, and the bytes that the library delivers with
 * it. */
#define RECEIVED_MAX (2 * AGENT_BODY_MAX)

struct input_stream {
    struct buffer received;
    pid_t pid;               /* of the process that a start message named; 0: none yet */
    struct process *waiting; /* it has yet to read the last message */
};

static void on_written(struct request *request, const struct rpc_error *error);

static int write_input(struct request *request, const json_t *data, struct rpc_error *error)
{
    struct input_stream *stream = request->state;
    const json_t *input;
    struct process *process =
        stream->pid ? process_find(request->agent->processes, stream->pid, "", false) : NULL;
    if (!stream->pid)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the first message must be a start");
    if (!process)
        return rpc_error_set(error, RPC_NOT_FOUND, "no process with pid %d", (int)stream->pid);
    if (proto_object(data, "input", &input, error) < 0)
        return -1;
    int rc = process_rpc_write(process, request, input, on_written, error);
    if (rc > 0)
        stream->waiting = process;
    return rc;
}

static int take_message(struct request *request, const struct envelope *envelope,
                        struct rpc_error *error)
{
    struct input_stream *stream = request->state;
    const json_t *start, *data;
    struct process *process;
    json_auto_t *message = rpc_parse_envelope(request, envelope, error);
    if (!message || proto_object(message, "start", &start, error) < 0 ||
        proto_object(message, "data", &data, error) < 0)
        return -1;
    if (data)
        return write_input(request, data, error);
    if (start) {
        if (process_rpc_select(request, start, false, &process, error) < 0)
            return -1;
        stream->pid = process->pid;
    }
    return 0; /* or a keepalive */
}

/* Take whole messages until one has to wait. */
static int take_messages(struct request *request, struct rpc_error *error)
{
    struct input_stream *stream = request->state;
    struct buffer *received = &stream->received;
    while (!stream->waiting) {
        struct envelope envelope;
        int rc = envelope_next(received->data, received->size, AGENT_BODY_MAX, &envelope, error);
        if (rc <= 0)
            return rc;
        if (take_message(request, &envelope, error) < 0)
            return -1;
        buffer_consume(received, ENVELOPE_HEAD + envelope.size);
    }
    return 0;
}

static int reply(struct request *request, struct rpc_error *error)
{
    struct input_stream *stream = request->state;
    if (stream->received.size)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the request ends in mid-message");
    return rpc_reply(request, json_object());
}

static void on_peer_gone(struct request *request)
{
    struct input_stream *stream = request->state;
    if (stream->waiting)
        process_forget_writer(stream->waiting, request);
    stream->waiting = NULL;
    httpd_resume(&request->http);
}

static void wait_if_needed(struct request *request)
{
    const struct input_stream *stream = request->state;
    if (!stream->waiting)
        return;
    httpd_suspend(&request->http);
    request_watch_peer(request, on_peer_gone);
}

static void on_written(struct request *request, const struct rpc_error *error)
{
    struct input_stream *stream = request->state;
    stream->waiting = NULL;
    int rc = error ? -1 : take_messages(request, &request->error);
    if (error)
        request->error = *error;
    if (rc == 0 && stream->waiting)
        return;
    if (rc == 0 && request->http.finished)
        rc = reply(request, &request->error);
    if (rc < 0 && request->http.finished)
        request_reply_error(request, &request->error);
    else if (rc < 0)
        httpd_fail(&request->http);
    httpd_resume(&request->http);
}

int stream_input_begin(struct request *request, struct rpc_error *error)
{
    if (rpc_check_type(request, true, error) < 0)
        return -1;
    if (request->type->text) /* its clients send one message a request */
        return rpc_error_set(error, RPC_UNSUPPORTED_MEDIA_TYPE,
                             "a stream of input cannot be of type %s", request->type->media_type);
    struct input_stream *stream = xcalloc(1, sizeof *stream);
    buffer_init(&stream->received, RECEIVED_MAX);
    request->state = stream;
    if (request->compressed)
        request->http.piece_max = GUNZIP_PIECE_MAX;
    /* A user who types may rest for longer than any limit. */
    MHD_set_connection_option(request->http.connection, MHD_CONNECTION_OPTION_TIMEOUT, 0);
    return 0;
}

int stream_input_data(struct request *request, const char *bytes, size_t size,
                      struct rpc_error *error)
{
    struct input_stream *stream = request->state;
    if (buffer_append(&stream->received, bytes, size) < 0)
        return rpc_error_set(error, RPC_TOO_LARGE, "a message is larger than %d KiB",
                             AGENT_BODY_MAX / 1024);
    if (take_messages(request, error) < 0)
        return -1;
    wait_if_needed(request);
    return 0;
}

int stream_input_finish(struct request *request, struct rpc_error *error)
{
    const struct input_stream *stream = request->state;
    if (stream->waiting) {
        wait_if_needed(request);
        return 0;
    }
    return reply(request, error);
}

void stream_input_closed(struct request *request)
{
    struct input_stream *stream = request->state;
    if (!stream)
        return;
    if (stream->waiting)
        process_forget_writer(stream->waiting, request);
    buffer_deinit(&stream->received);
    free(stream);
}

const struct rpc process_rpc_stream_input = {.request = &process_message_input_stream,
                                             .answer = &process_message_empty};
