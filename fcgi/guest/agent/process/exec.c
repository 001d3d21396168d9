/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/exec.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "agent/agent.h"
#include "agent/framework/connect_rpc.h"
#include "agent/framework/stream.h"
#include "agent/process/exec_call.h"
#include "agent/process/exec_text.h"
#include "agent/process/process_io.h"
#include "base/clock.h"
#include "base/media_type.h"
#include "base/mem.h"

#define EXEC_MAX   64 /* at once */
#define OUTPUT_MAX GUEST_OUTPUT_BYTES_MAX
/* A memory is an image for longer than this, and two clocks are read together in less. */
#define RESTORED_MS 20
#define CLOCK_READS 5
#define MS_PER_S    1000
#define NS_PER_MS   1000000

struct exec_output {
    struct buffer kept; /* the answer's; of a stream, a character whose rest has not come */
    bool truncated;
};

struct exec {
    struct process_follower follower;
    struct agent *agent;
    struct request *request; /* NULL: the client is gone */
    struct stream *stream;   /* NULL: one answer at the end */
    struct exec_output outputs[2];
    pid_t pid;
    int64_t began_ms;
    int64_t lead_ms; /* of the clocks at its start */
};

static unsigned exec_count;

static const char *const output_names[] = {"stdout", "stderr"};

static bool wants_stream(const struct request *request)
{
    const char *accept = httpd_header(&request->http, "Accept");
    int events = media_type_quality(accept, "text/event-stream");
    return events && events >= media_type_quality(accept, "application/json");
}

/* --- answers to the client --- */

static json_t *describe_end(const struct exec *exec, const struct process_end *end)
{
    int wait_status = end->wait_status;
    bool killed = WIFSIGNALED(wait_status);
    json_t *signal_name = json_null();
    if (killed) {
        const char *name = sigabbrev_np(WTERMSIG(wait_status));
        autofree char *text =
            name ? xasprintf("SIG%s", name) : xasprintf("SIG%d", WTERMSIG(wait_status));
        signal_name = json_string(text);
    }
    return json_pack(
        "{s:i, s:i, s:o, s:b, s:b, s:s?, s:s?, s:I}", "pid", (int)exec->pid, "exit_code",
        killed ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status), "signal", signal_name,
        "timed_out", end->reason == REASON_TIME_LIMIT, "oom", end->reason == REASON_OUT_OF_MEMORY,
        "reason", process_reason_name(end->reason), "message", *end->message ? end->message : NULL,
        "duration_ms", (json_int_t)(end->at_ms - exec->began_ms));
}

static void add_output(json_t *answer, const char *name, struct exec_output *output)
{
    const char *encoding;
    size_t size = output->kept.size;
    if (output->truncated)
        size -= exec_text_unfinished(output->kept.data, size);
    json_object_set_new(answer, name, exec_text_json(output->kept.data, size, &encoding));
    autofree char *encoding_name = xasprintf("%s_encoding", name);
    json_object_set_new(answer, encoding_name, json_string(encoding));
}

static void reply(struct exec *exec, const struct process_end *end)
{
    json_t *answer = describe_end(exec, end);
    for (size_t i = 0; i < ARRAY_SIZE(output_names); i++)
        add_output(answer, output_names[i], &exec->outputs[i]);
    json_object_set_new(answer, "truncated",
                        json_boolean(exec->outputs[0].truncated || exec->outputs[1].truncated));
    exec->request->state = NULL;
    httpd_reply_json(&exec->request->http, 200, answer);
}

static void send_output(struct exec *exec, size_t which, const char *data, size_t size)
{
    const char *encoding;
    json_t *text = exec_text_json(data, size, &encoding);
    stream_send_event(exec->stream, output_names[which],
                      json_pack("{s:o, s:s}", "data", text, "encoding", encoding));
}

static void send_end(struct exec *exec, const struct process_end *end)
{
    for (size_t i = 0; i < ARRAY_SIZE(output_names); i++) {
        const struct buffer *kept = &exec->outputs[i].kept;
        if (kept->size)
            send_output(exec, i, kept->data, kept->size);
    }
    stream_send_event(exec->stream, "exit", describe_end(exec, end));
    stream_end(exec->stream, NULL);
}

/* --- its life --- */

static void exec_free(struct exec *exec)
{
    for (size_t i = 0; i < ARRAY_SIZE(exec->outputs); i++)
        buffer_deinit(&exec->outputs[i].kept);
    free(exec);
    exec_count--;
}

static bool has_room(struct process_follower *follower)
{
    struct exec *exec = container_of(follower, struct exec, follower);
    return !exec->stream || stream_has_room(exec->stream);
}

static void keep(struct exec_output *output, const char *data, size_t size)
{
    size_t room = OUTPUT_MAX - output->kept.size;
    output->truncated |= size > room;
    buffer_append(&output->kept, data, size < room ? size : room);
}

/* Whole characters, so that text stays text wherever the pieces end. */
static void pass_on(struct exec *exec, size_t which, const char *data, size_t size)
{
    struct buffer *kept = &exec->outputs[which].kept;
    buffer_append(kept, data, size);
    size_t whole = kept->size - exec_text_unfinished(kept->data, kept->size);
    if (whole)
        send_output(exec, which, kept->data, whole);
    buffer_consume(kept, whole);
}

static void on_output(struct process_follower *follower, enum process_output_kind kind,
                      uint64_t offset, const char *data, size_t size)
{
    (void)offset;
    struct exec *exec = container_of(follower, struct exec, follower);
    size_t which = kind == PROCESS_STDERR;
    if (exec->stream)
        pass_on(exec, which, data, size);
    else if (exec->request)
        keep(&exec->outputs[which], data, size);
}

static void on_ended(struct process_follower *follower, const struct process_end *end)
{
    struct exec *exec = container_of(follower, struct exec, follower);
    if (exec->stream) {
        send_end(exec, end); /* freed when the stream is over */
        return;
    }
    if (exec->request)
        reply(exec, end);
    exec_free(exec);
}

static const struct process_follower_events follower_events = {
    .has_room = has_room,
    .output = on_output,
    .ended = on_ended,
};

/* --- the client --- */

static int64_t read_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * MS_PER_S + now.tv_nsec / NS_PER_MS;
}

/* Return how far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, which does not count the time that
 * this memory was an image. The agent can lose its processor between two readings, so the smallest
 * of some results counts. */
static int64_t clock_lead_ms(void)
{
    int64_t least_ms = INT64_MAX;
    for (int i = 0; i < CLOCK_READS; i++) {
        int64_t monotonic_ms = read_ms(CLOCK_MONOTONIC);
        int64_t lead_ms = read_ms(CLOCK_BOOTTIME) - monotonic_ms;
        if (lead_ms < least_ms)
            least_ms = lead_ms;
    }
    return least_ms;
}

/* Return whether the memory was restored since the start: in a copy of the sandbox, which continues
 * without the clients of the original, or after a pause. */
static bool is_restored(const struct exec *exec)
{
    return clock_lead_ms() - exec->lead_ms > RESTORED_MS;
}

static void lose_client(struct exec *exec)
{
    struct process *process = exec->follower.process;
    exec->request = NULL;
    exec->stream = NULL;
    if (!process || process->exited) {
        if (process) {
            process_unfollow(&exec->follower);
            process_io_resume(process);
        }
        exec_free(exec);
        return;
    }
    /* A pause ends all connections; the programs continue after it. */
    if (agent_is_hung_up(exec->agent) || is_restored(exec))
        process_io_resume(process);
    else
        process_kill(process);
}

static void on_peer_gone(struct request *request)
{
    exec_closed(request);
    httpd_resume(&request->http);
}

static void on_drained(struct stream *stream)
{
    struct exec *exec = stream->owner;
    if (exec->follower.process)
        process_io_resume(exec->follower.process);
}

static void on_stream_closed(struct stream *stream)
{
    lose_client(stream->owner);
}

static const struct stream_events stream_events = {
    .framing = STREAM_SERVER_SENT_EVENTS,
    .keepalive = ": keep-alive\n\n",
    .drained = on_drained,
    .closed = on_stream_closed,
};

void exec_closed(struct request *request)
{
    if (!request->state)
        return;
    if (wants_stream(request))
        stream_closed(request->state);
    else
        lose_client(request->state);
    request->state = NULL;
}

/* --- its beginning --- */

static int find_user(struct request *request, const char *name, struct user *user,
                     struct rpc_error *error)
{
    if (!*name)
        return rpc_user(request, user, error);
    if (users_find(name, user, error) == 0)
        return 0;
    if (error->code == RPC_UNAUTHENTICATED)
        rpc_error_set(error, RPC_NO_SUCH_USER, "the sandbox has no user '%s'", name);
    return rpc_error_name(error, "/user");
}

int exec_launch(struct request *request, const struct exec_call *call, struct process **process,
                struct rpc_error *error)
{
    user_auto user = {.name = NULL};
    if (find_user(request, call->user, &user, error) < 0)
        return -1;
    return process_launch(request->agent, &user, &call->process, process, error);
}

/* A program may end without having read its input. */
static void give_input(struct process *process, struct exec_call *call)
{
    struct rpc_error ignored;
    if (!call->input)
        return;
    process_write(process, NULL, NULL, steal_pointer(&call->input), call->input_size, &ignored);
    process_close_input(process, &ignored);
}

static struct exec *exec_new(struct request *request, struct process *process, int64_t timeout_ms)
{
    struct exec *exec = xcalloc(1, sizeof *exec);
    exec_count++;
    exec->agent = request->agent;
    exec->request = request;
    exec->follower.events = &follower_events;
    exec->pid = process->pid;
    exec->began_ms = clock_monotonic_ms();
    exec->lead_ms = clock_lead_ms();
    for (size_t i = 0; i < ARRAY_SIZE(exec->outputs); i++)
        buffer_init(&exec->outputs[i].kept, OUTPUT_MAX);
    process_follow(process, &exec->follower);
    process_limit(process, timeout_ms);
    return exec;
}

static int await(struct exec *exec, struct request *request, struct rpc_error *error)
{
    if (wants_stream(request)) {
        if (stream_open(request, &stream_events, exec, &exec->stream, error) < 0) {
            lose_client(exec);
            return -1;
        }
        stream_send_event(exec->stream, "start", json_pack("{s:i}", "pid", (int)exec->pid));
        return 0;
    }
    request->state = exec;
    httpd_suspend(&request->http);
    request_watch_peer(request, on_peer_gone);
    return 0;
}

static int check_count(struct rpc_error *error)
{
    return exec_count < EXEC_MAX
               ? 0
               : rpc_error_set(error, RPC_RESOURCE_EXHAUSTED,
                               "the sandbox runs %d calls of /exec, which is the most: wait until "
                               "one ends, or start long programs in the background",
                               EXEC_MAX);
}

int exec_finish(struct request *request, struct rpc_error *error)
{
    exec_call_auto call = {.args = NULL};
    struct process *process;
    json_auto_t *message = rpc_parse_body(request, error);
    if (!message)
        return -1;
    buffer_deinit(&request->body);
    if (exec_call_read(message, &call, error) < 0 || check_count(error) < 0 ||
        exec_launch(request, &call, &process, error) < 0)
        return -1;
    give_input(process, &call);
    return await(exec_new(request, process, call.timeout_ms), request, error);
}
