/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/framework/request.h"
#include "agent/process/process_io.h"
#include "base/mem.h"

/* Most bytes of one process that wait until the program reads its input. */
#define INPUT_BYTES_MAX (4 * 1024 * 1024)

#define PIPE_USUAL      (64 * 1024)
#define PIPE_WIDE       (256 * 1024)

static void answer(struct process_input *input, const struct rpc_error *error)
{
    struct request *request = input->request;
    if (!request)
        return;
    input->request = NULL;
    input->written(request, error);
}

static void drop_first(struct process *process, const struct rpc_error *error)
{
    struct process_input *input = STAILQ_FIRST(&process->inputs);
    STAILQ_REMOVE_HEAD(&process->inputs, link);
    process->input_bytes -= input->size;
    answer(input, error);
    free(input->data);
    free(input);
}

static void close_input(struct process *process, const struct rpc_error *error)
{
    process->input_open = false;
    while (!STAILQ_EMPTY(&process->inputs))
        drop_first(process, error);
    loop_close(&process->agent->loop, &process->input);
}

void process_input_close(struct process *process)
{
    struct rpc_error error;
    rpc_error_set(&error, RPC_INTERNAL, "the process ended before it read its input");
    close_input(process, &error);
}

/* Enlarge the pipe of a program that gets much input, so that both take turns less often. Without
 * permission, or with a terminal, it stays as it is. The kernel counts the pages of all pipes of a
 * user, so other programs keep the usual size. */
static void widen(struct process *process)
{
    if (process->input_is_wide || process->input_bytes < 2 * (size_t)PIPE_USUAL)
        return;
    process->input_is_wide = true;
    fcntl(process->input.fd, F_SETPIPE_SZ, PIPE_WIDE);
}

/* Write as much as the program takes. */
static void pump(struct process *process)
{
    struct process_input *input;
    widen(process);
    while ((input = STAILQ_FIRST(&process->inputs))) {
        ssize_t size = input->offset == input->size
                           ? 0
                           : write(process->input.fd, input->data + input->offset,
                                   input->size - input->offset);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (size < 0) {
            struct rpc_error error;
            rpc_error_set(&error, RPC_INTERNAL, "the process closed its standard input");
            close_input(process, &error);
            return;
        }
        input->offset += (size_t)size;
        if (input->offset == input->size)
            drop_first(process, NULL);
    }
    if (!input && process->input_closing) {
        close_input(process, NULL);
        return;
    }
    loop_change(&process->agent->loop, &process->input, input ? EPOLLOUT : 0);
}

static void on_writable(struct loop_source *source, uint32_t events)
{
    (void)events;
    pump(container_of(source, struct process, input));
}

void process_input_open(struct process *process, int fd)
{
    process->input.fd = -1;
    if (fd < 0)
        return;
    process->input_open = true;
    loop_add(&process->agent->loop, &process->input, fd, 0, on_writable);
}

int process_write(struct process *process, struct request *request, process_written *written,
                  char *data, size_t size, struct rpc_error *error)
{
    if (!process->input_open || process->input_closing) {
        free(data);
        return rpc_error_set(error, RPC_INTERNAL, "standard input is closed or was not enabled");
    }
    if (process->input_bytes + size > INPUT_BYTES_MAX) {
        free(data);
        return rpc_error_set(error, RPC_RESOURCE_EXHAUSTED,
                             "the process does not read its input, and too much input is waiting");
    }
    if (!size) {
        free(data);
        return 0;
    }
    struct process_input *input = xcalloc(1, sizeof *input);
    input->data = data;
    input->size = size;
    process->input_bytes += size;
    bool first = STAILQ_EMPTY(&process->inputs);
    STAILQ_INSERT_TAIL(&process->inputs, input, link);
    if (first) {
        /* It has no request yet: the result of the first attempt is answered here. */
        pump(process);
        if (!process->input_open)
            return rpc_error_set(error, RPC_INTERNAL, "the process closed its standard input");
        if (STAILQ_EMPTY(&process->inputs))
            return 0;
    }
    input->request = request;
    input->written = written;
    return 1;
}

void process_forget_writer(struct process *process, const struct request *request)
{
    struct process_input *input;
    STAILQ_FOREACH(input, &process->inputs, link)
    if (input->request == request)
        input->request = NULL;
}

int process_close_input(struct process *process, struct rpc_error *error)
{
    if (process->has_pty)
        return rpc_error_set(
            error, RPC_FAILED_PRECONDITION,
            "you cannot close the input of a terminal: send an end-of-file character");
    if (process->input_open) {
        process->input_closing = true;
        pump(process);
    }
    return 0;
}
