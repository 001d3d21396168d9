/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/process_io.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/mem.h"

#define PIECE_MAX     (32 * 1024)
#define PTY_PIECE_MAX (16 * 1024)
/* A terminal holds 64 KiB on their way, and 4 KiB that can be read. */
#define PTY_UNDERWAY_MAX (128 * 1024)

/* Pieces per turn of the loop: a fast producer does not keep the others waiting. */
#define PIECES_PER_TURN 4

/* Outputs of ended processes that the agent reads at once. */
#define RESTS_MAX PROCESSES_MAX

static char piece[PIECE_MAX];

static bool all_have_room(struct process *process)
{
    struct process_follower *follower;
    bool room = true;
    /* No short cut: each follower has to know that it is waited for. */
    LIST_FOREACH(follower, &process->followers, link)
    room &= !follower->events->has_room || follower->events->has_room(follower);
    return room;
}

/* A piece is never longer than the kept output. */
_Static_assert(PTY_PIECE_MAX <= PROCESS_MISSED_MAX, "a piece fits");
static void keep(struct process *process, const char *data, size_t size)
{
    struct buffer *missed = &process->missed;
    if (!process->has_pty || !process->tag)
        return;
    if (missed->size + size > PROCESS_MISSED_MAX)
        buffer_consume(missed, missed->size + size - PROCESS_MISSED_MAX);
    buffer_append(missed, data, size);
}

static void deliver(struct process_output *output, const char *data, size_t size)
{
    struct process *process = output->process;
    struct process_follower *follower = LIST_FIRST(&process->followers);
    uint64_t offset = output->offset;
    output->offset += size;
    process_log_append(&process->agent->processes->log, process->log_source, output->kind, offset,
                       data, size);
    if (!follower)
        keep(process, data, size);
    while (follower) {
        struct process_follower *next = LIST_NEXT(follower, link);
        if (follower->events->output)
            follower->events->output(follower, output->kind, offset, data, size);
        follower = next;
    }
}

/* --- the output of programs that outlive the process: for the log alone --- */

struct rest {
    struct agent *agent;
    struct loop_source source;
    struct process_log_source *log_source;
    enum process_output_kind kind;
    uint64_t offset;
};

static unsigned rest_count;

static void rest_free(struct rest *rest)
{
    loop_close(&rest->agent->loop, &rest->source);
    process_log_source_release(rest->log_source);
    free(rest);
    rest_count--;
}

static void on_rest(struct loop_source *source, uint32_t events)
{
    (void)events;
    struct rest *rest = container_of(source, struct rest, source);
    for (int i = 0; i < PIECES_PER_TURN; i++) {
        ssize_t size = read(source->fd, piece, sizeof piece);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (size <= 0) {
            rest_free(rest);
            return;
        }
        process_log_append(&rest->agent->processes->log, rest->log_source, rest->kind, rest->offset,
                           piece, (size_t)size);
        rest->offset += (size_t)size;
    }
}

/* A program that left the session may still write to the pipe: without a reader it would get
 * SIGPIPE. */
static void leave_to_log(struct process_output *output)
{
    struct agent *agent = output->process->agent;
    if (rest_count >= RESTS_MAX) {
        loop_close(&agent->loop, &output->source);
        return;
    }
    struct rest *rest = xcalloc(1, sizeof *rest);
    int fd = output->source.fd;
    rest->agent = agent;
    rest->log_source = output->process->log_source;
    rest->log_source->users++;
    rest->kind = output->kind;
    rest->offset = output->offset;
    rest->source.fd = -1;
    rest_count++;
    loop_remove(&agent->loop, &output->source);
    if (loop_add(&agent->loop, &rest->source, fd, EPOLLIN, on_rest) < 0) {
        close(fd);
        rest_free(rest);
    }
}

/* --- the output of a process --- */

/* Read and pass on one piece. Returns whether more may be there. */
static bool read_piece(struct process_output *output)
{
    struct process *process = output->process;
    size_t wanted = output->piece_max;
    if (output->last_gasp && output->bytes_left < wanted)
        wanted = output->bytes_left;
    if (!wanted && output->kind != PROCESS_PTY) {
        leave_to_log(output);
        return false;
    }
    ssize_t size = wanted ? read(output->source.fd, piece, wanted) : 0;
    if (size < 0 && (errno == EAGAIN || errno == EINTR) && !output->last_gasp)
        return false;
    if (size <= 0) { /* also EIO: the last one closed the terminal */
        loop_close(&process->agent->loop, &output->source);
        return false;
    }
    deliver(output, piece, (size_t)size);
    output->owed -= (size_t)size < output->owed ? (size_t)size : output->owed;
    if (output->last_gasp)
        output->bytes_left -= (size_t)size;
    return (size_t)size == wanted || output->last_gasp;
}

static void pump(struct process_output *output)
{
    struct process *process = output->process;
    struct loop *loop = &process->agent->loop;
    bool more = output->source.fd >= 0;
    for (int i = 0; more && i < PIECES_PER_TURN; i++) {
        if (!all_have_room(process)) {
            loop_change(loop, &output->source, 0);
            return;
        }
        more = read_piece(output);
    }
    /* A last gasp that has nothing more to read ends in read_piece(), never by waiting: the
     * descriptor may stay silent. */
    while (output->last_gasp && output->source.fd >= 0 && all_have_room(process))
        read_piece(output);
    if (output->source.fd >= 0)
        loop_change(loop, &output->source,
                    output->last_gasp || !all_have_room(process) ? 0 : EPOLLIN);
}

static void on_output(struct loop_source *source, uint32_t events)
{
    (void)events;
    struct process_output *output = container_of(source, struct process_output, source);
    pump(output);
    process_end_if_done(output->process);
}

void process_io_resume(struct process *process)
{
    pump(&process->output);
    pump(&process->error);
    process_end_if_done(process);
}

static size_t unread(const struct process_output *output)
{
    int available = 0;
    if (output->source.fd < 0 || ioctl(output->source.fd, FIONREAD, &available) < 0 ||
        available < 0)
        return 0;
    return (size_t)available;
}

void process_io_owe(struct process *process)
{
    process->output.owed = unread(&process->output);
    process->error.owed = unread(&process->error);
}

/* Output of a terminal may still be in the kernel, which does not count it. The agent reads until
 * there is no more; this bounds the output of children that keep writing. */
static void hurry(struct process_output *output)
{
    if (output->source.fd < 0 || output->last_gasp)
        return;
    output->bytes_left = output->kind == PROCESS_PTY ? PTY_UNDERWAY_MAX : unread(output);
    output->last_gasp = true;
    pump(output);
}

void process_io_hurry(struct process *process)
{
    hurry(&process->output);
    hurry(&process->error);
}

static void open_output(struct process *process, struct process_output *output, int fd,
                        enum process_output_kind kind)
{
    output->process = process;
    output->kind = kind;
    output->piece_max = kind == PROCESS_PTY ? PTY_PIECE_MAX : PIECE_MAX;
    output->source.fd = -1;
    if (fd >= 0 && loop_add(&process->agent->loop, &output->source, fd, EPOLLIN, on_output) < 0)
        close(fd);
}

void process_io_open(struct process *process, const struct process_ends *ends)
{
    open_output(process, &process->output, ends->output,
                process->has_pty ? PROCESS_PTY : PROCESS_STDOUT);
    open_output(process, &process->error, ends->error, PROCESS_STDERR);
    process_input_open(process, ends->input);
}

void process_io_close(struct process *process)
{
    loop_close(&process->agent->loop, &process->output.source);
    loop_close(&process->agent->loop, &process->error.source);
    process_input_close(process);
}
