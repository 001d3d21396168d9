/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A follower that is a stream of the Connect protocol. */
#include <signal.h>
#include <stdlib.h>

#include "agent/framework/stream.h"
#include "agent/process/process_end.h"
#include "agent/process/process_io.h"
#include "base/mem.h"

struct stream_follower {
    struct process_follower follower;
    struct stream *stream;
    bool started_it; /* its time limit is the process's */
};

static const char *const before_data[] = {
    [PROCESS_STDOUT] = "{\"event\":{\"data\":{\"stdout\":\"",
    [PROCESS_STDERR] = "{\"event\":{\"data\":{\"stderr\":\"",
    [PROCESS_PTY] = "{\"event\":{\"data\":{\"pty\":\"",
};

static struct stream *stream_of(struct process_follower *follower)
{
    return container_of(follower, struct stream_follower, follower)->stream;
}

static bool has_room(struct process_follower *follower)
{
    return stream_has_room(stream_of(follower));
}

static void on_output(struct process_follower *follower, enum process_output_kind kind,
                      const char *data, size_t size)
{
    stream_send_base64(stream_of(follower), before_data[kind], data, size, "\"}}}");
}

static void on_ended(struct process_follower *follower, int wait_status)
{
    struct stream *stream = stream_of(follower);
    stream_send(stream, process_end_event(wait_status));
    stream_end(stream, NULL);
}

static const struct process_follower_events follower_events = {
    .has_room = has_room,
    .output = on_output,
    .ended = on_ended,
};

void process_follow_stream(struct process *process, struct stream *stream, bool started_it)
{
    struct stream_follower *own = xcalloc(1, sizeof *own);
    own->follower.events = &follower_events;
    own->stream = stream;
    own->started_it = started_it;
    stream->owner = own;
    stream_send(stream, json_pack("{s:{s:{s:i}}}", "event", "start", "pid", (int)process->pid));
    if (process->config)
        process_follow(process, &own->follower);
    else
        on_ended(&own->follower, process->wait_status);
}

static void on_drained(struct stream *stream)
{
    struct stream_follower *own = stream->owner;
    if (own->follower.process)
        process_io_resume(own->follower.process);
}

static void on_deadline(struct stream *stream)
{
    struct stream_follower *own = stream->owner;
    struct fault ignored;
    if (own->follower.process && own->started_it)
        process_signal(own->follower.process, SIGKILL, &ignored);
}

static void on_closed(struct stream *stream)
{
    struct stream_follower *own = stream->owner;
    struct process *process = own->follower.process;
    if (process) {
        process_unfollow(&own->follower);
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
