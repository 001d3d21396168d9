/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A follower that is a stream of the Connect protocol. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/framework/stream.h"
#include "agent/process/process_end.h"
#include "agent/process/process_io.h"
#include "base/mem.h"

struct stream_follower {
    struct process_follower follower;
    struct stream *stream;
    bool has_ended;
    struct process_end how;
    /* The part of the log for this follower, from next to end. Nothing new is read meanwhile, but
     * the process may end and be forgotten. */
    bool catching_up;
    const struct process_log *log;
    struct process_log_source *source;
    struct process_resume next, end;
};

static const char *const kind_names[] = {
    [PROCESS_STDOUT] = "stdout", [PROCESS_STDERR] = "stderr", [PROCESS_PTY] = "pty"};

static const char *const before_data[] = {
    [PROCESS_STDOUT] = "{\"event\":{\"data\":{\"stdout\":\"",
    [PROCESS_STDERR] = "{\"event\":{\"data\":{\"stderr\":\"",
    [PROCESS_PTY] = "{\"event\":{\"data\":{\"pty\":\"",
};

static struct stream *stream_of(struct process_follower *follower)
{
    return container_of(follower, struct stream_follower, follower)->stream;
}

static struct stream_follower *own_of(struct process_follower *follower)
{
    return container_of(follower, struct stream_follower, follower);
}

static bool has_room(struct process_follower *follower)
{
    return stream_has_room(stream_of(follower)) && !own_of(follower)->catching_up;
}

static void send_data(struct stream *stream, enum process_output_kind kind, uint64_t offset,
                      const char *data, size_t size)
{
    char after[64];
    snprintf(after, sizeof after, "\",\"offset\":\"%" PRIu64 "\"}}}", offset);
    const char *const path[] = {"event", "data", kind_names[kind]};
    const struct stream_bytes where = {path, ARRAY_SIZE(path), before_data[kind], after};
    stream_send_bytes(stream, &where, data, size);
}

static void on_output(struct process_follower *follower, enum process_output_kind kind,
                      uint64_t offset, const char *data, size_t size)
{
    send_data(stream_of(follower), kind, offset, data, size);
}

static void on_ended(struct process_follower *follower, const struct process_end *end)
{
    struct stream_follower *own = own_of(follower);
    own->has_ended = true;
    own->how = *end;
    if (own->catching_up)
        return;
    stream_send(own->stream, process_end_event(end));
    stream_end(own->stream, NULL);
}

static void on_displaced(struct process_follower *follower)
{
    struct rpc_error error;
    rpc_error_set(&error, RPC_FAILED_PRECONDITION, "another client has connected to the process");
    stream_end(stream_of(follower), &error);
}

static const struct process_follower_events follower_events = {
    .has_room = has_room,
    .output = on_output,
    .ended = on_ended,
    .displaced = on_displaced,
};

/* --- earlier output --- */

static const struct process_output *output_of(const struct process *process,
                                              enum process_output_kind kind)
{
    if (process->output.kind == kind)
        return &process->output;
    return kind == PROCESS_STDERR && !process->has_pty ? &process->error : NULL;
}

static uint64_t written(const struct process *process, enum process_output_kind kind)
{
    const struct process_output *output = output_of(process, kind);
    return output ? output->offset : 0;
}

/* The entry with that byte. */
static const struct process_log_entry *entry_at(const struct process_log *log,
                                                const struct process_log_source *source,
                                                enum process_output_kind kind, uint64_t offset)
{
    const struct process_log_entry *entry = process_log_find(log, source, kind, offset);
    return entry && entry->offset <= offset ? entry : NULL;
}

int process_check_resume(const struct process *process, const struct process_resume *resume,
                         struct rpc_error *error)
{
    const struct process_log *log = &process->agent->processes->log;
    for (unsigned kind = 0; kind < PROCESS_OUTPUT_KINDS; kind++) {
        uint64_t offset = resume->offsets[kind], end = written(process, kind);
        if (offset > end)
            return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                                 "the process has written %" PRIu64 " bytes to its %s", end,
                                 kind_names[kind]);
        if (offset < end && !entry_at(log, process->log_source, kind, offset))
            return rpc_error_set(error, RPC_OUT_OF_RANGE,
                                 "the agent no longer has the %s of the process at byte %" PRIu64,
                                 kind_names[kind], offset);
    }
    return 0;
}

static void tell_missed(struct process *process, struct stream *stream)
{
    struct buffer *missed = &process->missed;
    if (missed->size)
        send_data(stream, PROCESS_PTY, process->output.offset - missed->size, missed->data,
                  missed->size);
    buffer_deinit(missed);
}

/* The oldest piece of all outputs; NULL: it is gone. */
static const struct process_log_entry *next_entry(const struct stream_follower *own)
{
    const struct process_log_entry *next = NULL;
    for (unsigned kind = 0; kind < PROCESS_OUTPUT_KINDS; kind++) {
        uint64_t offset = own->next.offsets[kind];
        if (offset == own->end.offsets[kind])
            continue;
        const struct process_log_entry *entry = entry_at(own->log, own->source, kind, offset);
        if (!entry)
            return NULL;
        if (!next || entry->position < next->position)
            next = entry;
    }
    return next;
}

static bool has_all(const struct stream_follower *own)
{
    return !memcmp(&own->next, &own->end, sizeof own->end);
}

static void tell_entry(struct stream_follower *own, const struct process_log_entry *entry)
{
    uint64_t *offset = &own->next.offsets[entry->kind];
    size_t skip = (size_t)(*offset - entry->offset);
    send_data(own->stream, entry->kind, *offset, entry->data + skip, entry->size - skip);
    *offset = entry->offset + entry->size;
}

/* Another process has written so much meanwhile that this output is gone. */
static void give_up(struct stream_follower *own)
{
    struct rpc_error error;
    rpc_error_set(&error, RPC_OUT_OF_RANGE, "the agent no longer has the output of the process");
    stream_end(own->stream, &error);
}

static void catch_up(struct stream_follower *own)
{
    while (own->stream->state == STREAM_OPEN && !has_all(own)) {
        const struct process_log_entry *entry = next_entry(own);
        if (!stream_has_room(own->stream))
            return;
        if (entry)
            tell_entry(own, entry);
        else
            give_up(own);
    }
    own->catching_up = false;
    if (own->has_ended)
        on_ended(&own->follower, &own->how);
}

static void begin_catching_up(struct stream_follower *own, const struct process *process,
                              const struct process_resume *resume)
{
    own->catching_up = true;
    own->log = &process->agent->processes->log;
    own->source = process->log_source;
    own->source->users++;
    own->next = *resume;
    for (unsigned kind = 0; kind < PROCESS_OUTPUT_KINDS; kind++)
        own->end.offsets[kind] = written(process, kind);
}

/* --- following --- */

static json_t *start_event(const struct process *process, const struct process_resume *resume)
{
    json_t *offsets = json_object();
    for (unsigned kind = 0; kind < PROCESS_OUTPUT_KINDS; kind++) {
        if (!output_of(process, kind))
            continue;
        uint64_t offset = resume ? resume->offsets[kind] : written(process, kind);
        if (!resume && kind == PROCESS_PTY)
            offset -= process->missed.size;
        json_object_set_new(offsets, kind_names[kind], json_sprintf("%" PRIu64, offset));
    }
    return json_pack("{s:{s:{s:i, s:o}}}", "event", "start", "pid", (int)process->pid, "offsets",
                     offsets);
}

void process_follow_stream(struct process *process, struct stream *stream,
                           const struct process_resume *resume)
{
    struct stream_follower *own = xcalloc(1, sizeof *own);
    own->follower.events = &follower_events;
    own->stream = stream;
    stream->owner = own;
    stream_send(stream, start_event(process, resume));
    if (resume)
        begin_catching_up(own, process, resume);
    else
        tell_missed(process, stream);
    if (process_is_over(process))
        on_ended(&own->follower, &process->end);
    else
        process_follow(process, &own->follower);
    if (resume)
        catch_up(own);
}

static void on_drained(struct stream *stream)
{
    struct stream_follower *own = stream->owner;
    if (own->catching_up)
        catch_up(own);
    if (own->follower.process)
        process_io_resume(own->follower.process);
}

static void on_closed(struct stream *stream)
{
    struct stream_follower *own = stream->owner;
    struct process *process = own->follower.process;
    if (process) {
        process_unfollow(&own->follower);
        process_io_resume(process);
    }
    if (own->source)
        process_log_source_release(own->source);
    free(own);
}

const struct stream_events process_stream_events = {
    .keepalive = "{\"event\":{\"keepalive\":{}}}",
    .drained = on_drained,
    .closed = on_closed,
};
