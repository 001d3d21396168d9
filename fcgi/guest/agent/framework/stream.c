/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/framework/stream.h"

#include <sodium.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/framework/connect_head.h"
#include "agent/framework/connect_rpc.h"
#include "agent/framework/request.h"
#include "agent/framework/rpc_answer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

/* Above this nothing more is appended by well-behaved owners. */
#define HIGH_WATER          (64 * 1024)
#define PENDING_MAX         (512 * 1024)

#define KEEPALIVE_DEFAULT_S 90
#define KEEPALIVE_MAX_S     3600
/* Of a format that proxies know, and cut off when it is silent for a minute. */
#define KEEPALIVE_EVENTS_S 15

static ssize_t on_read(void *context, uint64_t position, char *out, size_t room)
{
    (void)position;
    struct stream *stream = context;
    if (stream->state == STREAM_ABORTED)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    size_t size = stream->pending.size < room ? stream->pending.size : room;
    if (size) {
        memcpy(out, stream->pending.data, size);
        buffer_consume(&stream->pending, size);
        if (stream->starved && stream->state == STREAM_OPEN && stream_has_room(stream))
            stream->events->drained(stream);
        return (ssize_t)size;
    }
    if (stream->state == STREAM_ENDED)
        return MHD_CONTENT_READER_END_OF_STREAM;
    buffer_deinit(&stream->pending); /* an idle stream holds no memory */
    httpd_suspend(&stream->request->http);
    return 0;
}

static void touch(struct stream *stream)
{
    stream->last_sent_ms = clock_monotonic_ms();
    httpd_resume(&stream->request->http);
}

static void cut_off(struct stream *stream)
{
    stream->state = STREAM_ABORTED;
    touch(stream);
}

static void append_encoded(struct stream *stream, const struct buffer *message)
{
    if (buffer_overflowed(message))
        cut_off(stream);
    else
        rpc_frame(stream->request, message->data, message->size, &stream->pending);
}

static void append_message(struct stream *stream, const json_t *message)
{
    buffer_auto encoded = BUFFER_INIT(PENDING_MAX);
    rpc_encode(stream->request, message, &encoded);
    append_encoded(stream, &encoded);
}

static void append_keepalive(struct stream *stream)
{
    const char *text = stream->events->keepalive;
    json_auto_t *message =
        stream->events->framing == STREAM_ENVELOPES ? json_loads(text, 0, NULL) : NULL;
    if (message)
        append_message(stream, message);
    else
        buffer_append_string(&stream->pending, text);
}

static void on_keepalive(struct loop_timer *timer)
{
    struct stream *stream = container_of(timer, struct stream, keepalive_timer);
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms >= stream->last_sent_ms + stream->keepalive_ms) {
        stream->last_sent_ms = now_ms;
        /* A reader that left bytes unread needs no sign of life. */
        if (!stream->pending.size) {
            append_keepalive(stream);
            touch(stream);
        }
    }
    loop_timer_arm(&stream->request->agent->loop, timer,
                   stream->last_sent_ms + stream->keepalive_ms, on_keepalive);
}

static void on_deadline(struct loop_timer *timer)
{
    struct stream *stream = container_of(timer, struct stream, deadline_timer);
    struct rpc_error error;
    rpc_error_set(&error, RPC_DEADLINE_EXCEEDED, "the call has reached its time limit");
    if (stream->events->deadline)
        stream->events->deadline(stream);
    stream_end(stream, &error);
}

static void on_peer_gone(struct request *request)
{
    cut_off(request->state);
}

static int64_t keepalive_interval_ms(const struct request *request, enum stream_framing framing)
{
    const char *text = httpd_header(&request->http, "Keepalive-Ping-Interval");
    uint64_t interval_s;
    if (!text || str_parse_u64(text, 1, KEEPALIVE_MAX_S, &interval_s) < 0)
        interval_s = framing == STREAM_ENVELOPES ? KEEPALIVE_DEFAULT_S : KEEPALIVE_EVENTS_S;
    return (int64_t)interval_s * 1000;
}

static int reply(struct stream *stream)
{
    struct request *request = stream->request;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, on_read, stream, NULL);
    bool envelopes = stream->events->framing == STREAM_ENVELOPES;
    MHD_add_response_header(response, "Content-Type",
                            envelopes ? request->type->media_type : "text/event-stream");
    if (envelopes && request->packs)
        MHD_add_response_header(response, rpc_coding_header(request->type), "gzip");
    /* A proxy must not buffer data that comes in small pieces. */
    MHD_add_response_header(response, "X-Accel-Buffering", "no");
    MHD_set_connection_option(request->http.connection, MHD_CONNECTION_OPTION_TIMEOUT, 0);
    return httpd_reply(&request->http, 200, response);
}

int stream_open(struct request *request, const struct stream_events *events, void *owner,
                struct stream **stream, struct rpc_error *error)
{
    int64_t timeout_ms = 0;
    if (events->framing == STREAM_ENVELOPES && rpc_timeout_ms(request, &timeout_ms, error) < 0)
        return -1;
    struct stream *s = xcalloc(1, sizeof *s);
    s->request = request;
    s->events = events;
    s->owner = owner;
    buffer_init(&s->pending, PENDING_MAX);
    if (reply(s) < 0) {
        free(s);
        return rpc_error_set(error, RPC_INTERNAL, "cannot send the response");
    }
    struct loop *loop = &request->agent->loop;
    LIST_INSERT_HEAD(&request->agent->streams, s, link);
    request->state = s;
    s->keepalive_ms = keepalive_interval_ms(request, events->framing);
    s->last_sent_ms = clock_monotonic_ms();
    loop_timer_arm(loop, &s->keepalive_timer, s->last_sent_ms + s->keepalive_ms, on_keepalive);
    if (timeout_ms)
        loop_timer_arm(loop, &s->deadline_timer, s->last_sent_ms + timeout_ms, on_deadline);
    request_watch_peer(request, on_peer_gone);
    *stream = s;
    return 0;
}

static void check_overflow(struct stream *stream)
{
    if (buffer_overflowed(&stream->pending))
        cut_off(stream);
}

void stream_send(struct stream *stream, json_t *message)
{
    if (stream->state == STREAM_OPEN) {
        append_message(stream, message);
        check_overflow(stream);
        touch(stream);
    }
    json_decref(message);
}

void stream_send_event(struct stream *stream, const char *name, json_t *data)
{
    autofree char *text = json_dumps(data, JSON_COMPACT);
    json_decref(data);
    if (stream->state != STREAM_OPEN || !text)
        return;
    /* One line of data: JSON has none in it. */
    const char *const parts[] = {"event: ", name, "\ndata: ", text, "\n\n"};
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        buffer_append_string(&stream->pending, parts[i]);
    check_overflow(stream);
    touch(stream);
}

static void encode_json_bytes(const struct stream_bytes *where, const void *data, size_t size,
                              struct buffer *out)
{
    size_t room = sodium_base64_ENCODED_LEN(size, sodium_base64_VARIANT_ORIGINAL);
    buffer_append_string(out, where->before);
    char *text = buffer_reserve(out, room);
    if (text) {
        sodium_bin2base64(text, room, data, size, sodium_base64_VARIANT_ORIGINAL);
        buffer_commit(out, room - 1);
    }
    buffer_append_string(out, where->after);
}

void stream_send_bytes(struct stream *stream, const struct stream_bytes *where, const void *data,
                       size_t size)
{
    const struct request *request = stream->request;
    buffer_auto encoded = BUFFER_INIT(PENDING_MAX);
    if (stream->state != STREAM_OPEN)
        return;
    if (request->type->binary)
        message_write_bytes(request->route->rpc->answer, where->path, where->depth, data, size,
                            &encoded);
    else
        encode_json_bytes(where, data, size, &encoded);
    append_encoded(stream, &encoded);
    check_overflow(stream);
    touch(stream);
}

bool stream_has_room(struct stream *stream)
{
    stream->starved = stream->state == STREAM_OPEN && stream->pending.size >= HIGH_WATER;
    return !stream->starved;
}

void stream_end(struct stream *stream, const struct rpc_error *error)
{
    if (stream->state != STREAM_OPEN)
        return;
    if (stream->events->framing == STREAM_ENVELOPES)
        rpc_frame_end(stream->request->type, error, &stream->pending);
    stream->state = buffer_overflowed(&stream->pending) ? STREAM_ABORTED : STREAM_ENDED;
    loop_timer_disarm(&stream->request->agent->loop, &stream->keepalive_timer);
    loop_timer_disarm(&stream->request->agent->loop, &stream->deadline_timer);
    touch(stream);
}

void stream_abort_all(struct agent *agent)
{
    struct stream *stream;
    LIST_FOREACH(stream, &agent->streams, link)
    cut_off(stream);
}

void stream_closed(struct stream *stream)
{
    LIST_REMOVE(stream, link);
    stream->events->closed(stream);
    loop_timer_disarm(&stream->request->agent->loop, &stream->keepalive_timer);
    loop_timer_disarm(&stream->request->agent->loop, &stream->deadline_timer);
    buffer_deinit(&stream->pending);
    free(stream);
}
