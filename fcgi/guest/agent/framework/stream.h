/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The response of a server-streaming call of a service, or one of server-sent events.
 * The owner appends messages while stream_has_room(), stops its source when there is no room, and
 * continues after the callback that the stream drained. The memory of a stream with a slow reader
 * is therefore bounded.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "agent/common/rpc_error.h"
#include "base/buffer.h"
#include "base/loop.h"

struct agent;
struct request;
struct stream;

enum stream_framing {
    STREAM_ENVELOPES,         /* as the request has it: stream_send(), stream_send_bytes() */
    STREAM_SERVER_SENT_EVENTS /* text/event-stream: stream_send_event() */
};

struct stream_events {
    enum stream_framing framing;
    const char *keepalive;                   /* message that is sent when nothing else was: JSON */
    void (*drained)(struct stream *stream);  /* there is room again */
    void (*deadline)(struct stream *stream); /* the client's time is over; the stream ends next.
                                              * NULL: nothing is to be done before */
    /* The response is over, complete or cut off; the stream is gone after this. */
    void (*closed)(struct stream *stream);
};

struct stream {
    LIST_ENTRY(stream) link; /* of the agent's */
    struct request *request;
    const struct stream_events *events;
    void *owner;
    struct buffer pending;
    enum { STREAM_OPEN, STREAM_ENDED, STREAM_ABORTED } state;
    bool starved; /* the owner waits: notify it when there is room */
    int64_t keepalive_ms, last_sent_ms;
    struct loop_timer keepalive_timer, deadline_timer;
};

/* Answer the request with a stream. Fails on bad time-out headers (which envelopes alone have); the
 * request is as before then.
 * It replies to the request: nothing else may. */
int stream_open(struct request *request, const struct stream_events *events, void *owner,
                struct stream **stream, struct rpc_error *error);

/* Append one message. The JSON value's reference is taken over. */
void stream_send(struct stream *stream, json_t *message);

/* Bytes in a message that holds nothing else. This is the path of bulk output: no JSON tree. */
struct stream_bytes {
    const char *const *path; /* the names of the fields that lead to them */
    size_t depth;
    const char *before, *after; /* in JSON: base64 in the middle of a string */
};

void stream_send_bytes(struct stream *stream, const struct stream_bytes *where, const void *data,
                       size_t size);

/* Append one server-sent event. The JSON value's reference is taken over. */
void stream_send_event(struct stream *stream, const char *name, json_t *data);

/* Return whether there is room. False: the owner waits for drained(). */
bool stream_has_room(struct stream *stream);

/* End the stream: of envelopes one that says success (error NULL) or an error. */
void stream_end(struct stream *stream, const struct rpc_error *error);

/* Cut all open responses off without an end. */
void stream_abort_all(struct agent *agent);

/* Close the stream, at the end of the request. */
void stream_closed(struct stream *stream);
