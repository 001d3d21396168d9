/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process.Process/StreamInput: the one call whose request is a stream. Its messages are taken one
 * by one as they come; while the program has much to read, the connection waits, so a client is as
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

/* Input that the program has yet to read, before the connection waits. */
#define AHEAD_MAX  (1024 * 1024)
#define UNREAD_MAX 1024 /* messages of any size */

struct input_stream {
    struct buffer received;
    pid_t pid;               /* of the process that a start message named; 0: none yet */
    struct process *waiting; /* it has yet to read some messages */
    unsigned unread;         /* their number */
};

static void on_written(struct request *request, const struct rpc_error *error);

static bool is_full(const struct input_stream *stream)
{
    return stream->waiting &&
           (stream->waiting->input_bytes > AHEAD_MAX || stream->unread >= UNREAD_MAX);
}

/* After an error nothing more is answered. */
static void forget(struct request *request)
{
    struct input_stream *stream = request->state;
    if (stream->waiting)
        process_forget_writer(stream->waiting, request);
    stream->waiting = NULL;
    stream->unread = 0;
}

static struct process *find_process(const struct request *request, struct rpc_error *error)
{
    const struct input_stream *stream = request->state;
    struct process *process =
        stream->pid ? process_find(request->agent->processes, stream->pid, "", false) : NULL;
    if (!stream->pid)
        rpc_error_set(error, RPC_INVALID_ARGUMENT, "the first message must be a start");
    else if (!process)
        rpc_error_set(error, RPC_NOT_FOUND, "no process with pid %d", (int)stream->pid);
    return process;
}

/* Count the message if the program has yet to read it. written: of process_write(). */
static int note_written(struct input_stream *stream, struct process *process, int written)
{
    if (written > 0) {
        stream->waiting = process;
        stream->unread++;
    }
    return written < 0 ? -1 : 0;
}

static int write_input(struct request *request, const json_t *data, struct rpc_error *error)
{
    const json_t *input;
    struct process *process = find_process(request, error);
    if (!process)
        return -1;
    if (proto_object(data, "input", &input, error) < 0)
        return rpc_error_within(error, "data");
    int written = process_rpc_write(process, request, input, on_written, error);
    return written < 0 ? rpc_error_within(error, "data")
                       : note_written(request->state, process, written);
}

/* Enter the field of this tag, which is all that is left of the message. */
static bool enter(const unsigned char **at, const unsigned char *end, unsigned tag)
{
    size_t size = 0;
    unsigned shift = 0;
    if (*at == end || *(*at)++ != tag)
        return false;
    while (*at < end && shift < 28) {
        unsigned char byte = *(*at)++;
        size |= (size_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte < 0x80)
            return size == (size_t)(end - *at);
    }
    return false;
}

#define TAG_DATA  0x12 /* the fields of process_message_input_stream with bytes for a program */
#define TAG_INPUT 0x12
#define TAG_STDIN 0x0a
#define TAG_PTY   0x12

/* Take a binary message with bytes alone, without its JSON form. Returns 1 for another message. */
static int take_bytes(struct request *request, const struct envelope *envelope,
                      struct rpc_error *error)
{
    const unsigned char *at = (const unsigned char *)envelope->message, *end = at + envelope->size;
    if (!request->type->binary || envelope->compressed || !enter(&at, end, TAG_DATA) ||
        !enter(&at, end, TAG_INPUT) || at == end)
        return 1;
    bool to_pty = *at == TAG_PTY;
    if (!enter(&at, end, to_pty ? TAG_PTY : TAG_STDIN))
        return 1;
    struct process *process = find_process(request, error);
    if (!process)
        return -1;
    char *data = xmalloc((size_t)(end - at) + 1);
    memcpy(data, at, (size_t)(end - at));
    return note_written(request->state, process,
                        process_rpc_write_bytes(process, request, to_pty, data, (size_t)(end - at),
                                                on_written, error));
}

static int take_message(struct request *request, const struct envelope *envelope,
                        struct rpc_error *error)
{
    struct input_stream *stream = request->state;
    const json_t *start, *data;
    struct process *process;
    int taken = take_bytes(request, envelope, error);
    if (taken <= 0)
        return taken;
    json_auto_t *message = rpc_parse_envelope(request, envelope, error);
    if (!message || proto_object(message, "start", &start, error) < 0 ||
        proto_object(message, "data", &data, error) < 0)
        return -1;
    if (data)
        return write_input(request, data, error);
    if (start) {
        if (process_rpc_select(request, start, false, &process, error) < 0)
            return rpc_error_within(error, "start");
        if (stream->waiting && stream->waiting != process) /* forget() knows one process */
            return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                                 "start: the previous process has not read all of its input yet");
        stream->pid = process->pid;
    }
    return 0; /* or a keepalive */
}

/* Take whole messages until one has to wait. */
static int take_messages(struct request *request, struct rpc_error *error)
{
    struct input_stream *stream = request->state;
    struct buffer *received = &stream->received;
    while (!is_full(stream)) {
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
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the request is cut off in a message");
    return rpc_reply(request, json_object());
}

static void on_peer_gone(struct request *request)
{
    forget(request);
    httpd_resume(&request->http);
}

static void wait_for_program(struct request *request)
{
    httpd_suspend(&request->http);
    request_watch_peer(request, on_peer_gone);
}

static void on_written(struct request *request, const struct rpc_error *error)
{
    struct input_stream *stream = request->state;
    if (--stream->unread == 0)
        stream->waiting = NULL;
    int rc = error ? -1 : take_messages(request, &request->error);
    if (error)
        request->error = *error;
    if (rc == 0 && (is_full(stream) || (request->http.finished && stream->waiting)))
        return;
    if (rc < 0)
        forget(request);
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
                             "a stream of input cannot have the type %s",
                             request->type->media_type);
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
    if (take_messages(request, error) < 0) {
        forget(request);
        return -1;
    }
    if (is_full(stream))
        wait_for_program(request);
    return 0;
}

int stream_input_finish(struct request *request, struct rpc_error *error)
{
    const struct input_stream *stream = request->state;
    if (stream->waiting) {
        wait_for_program(request);
        return 0;
    }
    return reply(request, error);
}

void stream_input_closed(struct request *request)
{
    struct input_stream *stream = request->state;
    if (!stream)
        return;
    forget(request);
    buffer_deinit(&stream->received);
    free(stream);
}

const struct rpc process_rpc_stream_input = {.request = &process_message_input_stream,
                                             .answer = &process_message_empty};
