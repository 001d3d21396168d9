/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A watch that is a stream of the Connect protocol. */
#include <signal.h>
#include <stdlib.h>

#include "agent/framework/stream.h"
#include "agent/process/process_end.h"
#include "agent/process/process_io.h"
#include "base/mem.h"

struct stream_watch {
    struct process_watch watch;
    struct stream *stream;
    bool started_it; /* its time limit is the process's */
};

static const char *const before_data[] = {
    [PROCESS_STDOUT] = "{\"event\":{\"data\":{\"stdout\":\"",
    [PROCESS_STDERR] = "{\"event\":{\"data\":{\"stderr\":\"",
    [PROCESS_PTY] = "{\"event\":{\"data\":{\"pty\":\"",
};

static struct stream *stream_of(struct process_watch *watch)
{
    return container_of(watch, struct stream_watch, watch)->stream;
}

static bool has_room(struct process_watch *watch)
{
    return stream_has_room(stream_of(watch));
}

static void on_output(struct process_watch *watch, enum process_output_kind kind, const char *data,
                      size_t size)
{
    stream_send_base64(stream_of(watch), before_data[kind], data, size, "\"}}}");
}

static void on_ended(struct process_watch *watch, int wait_status)
{
    struct stream *stream = stream_of(watch);
    stream_send(stream, process_end_event(wait_status));
    stream_end(stream, NULL);
}

static const struct process_watch_events watch_events = {
    .has_room = has_room,
    .output = on_output,
    .ended = on_ended,
};

void process_watch_stream(struct process *process, struct stream *stream, bool started_it)
{
    struct stream_watch *own = xcalloc(1, sizeof *own);
    own->watch.events = &watch_events;
    own->stream = stream;
    own->started_it = started_it;
    stream->owner = own;
    stream_send(stream, json_pack("{s:{s:{s:i}}}", "event", "start", "pid", (int)process->pid));
    if (process->config)
        process_watch(process, &own->watch);
    else
        on_ended(&own->watch, process->wait_status);
}

static void on_drained(struct stream *stream)
{
    struct stream_watch *own = stream->owner;
    if (own->watch.process)
        process_io_resume(own->watch.process);
}

static void on_deadline(struct stream *stream)
{
    struct stream_watch *own = stream->owner;
    struct fault ignored;
    if (own->watch.process && own->started_it)
        process_signal(own->watch.process, SIGKILL, &ignored);
}

static void on_closed(struct stream *stream)
{
    struct stream_watch *own = stream->owner;
    struct process *process = own->watch.process;
    if (process) {
        process_unwatch(&own->watch);
        process_io_resume(process);
    }
    free(own);
}

const struct stream_events process_stream_events = {
    .keepalive = "{\"event\":{\"keepalive\":{}}}",
    .drained = on_drained,
    .deadline = on_deadline,
    .closed = on_closed,
};
