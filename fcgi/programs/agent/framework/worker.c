/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/framework/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/mem.h"

struct worker {
    struct request *request;
    struct loop_source output;
    pid_t pid;
    struct buffer
        answer; /* a byte of struct rpc_error's code, RPC_CODE_COUNT for none, then text */
};

static unsigned worker_count;

static void write_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size) {
        ssize_t written = write(fd, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            _exit(1);
        at += written;
        size -= (size_t)written;
    }
}

__attribute__((noreturn)) static void run_in_copy(worker_function *work, const void *context,
                                                  int fd)
{
    struct buffer answer = BUFFER_INIT(WORKER_ANSWER_MAX);
    struct rpc_error error = {.code = RPC_CODE_COUNT};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* A connection that the agent closes must not stay open here. */
    if (dup2(fd, STDERR_FILENO + 1) < 0)
        _exit(1);
    close_range(STDERR_FILENO + 2, ~0U, 0);
    fd = STDERR_FILENO + 1;
    if (work(context, &answer, &error) == 0 && buffer_overflowed(&answer))
        rpc_error_set(&error, RPC_RESOURCE_EXHAUSTED, "the answer is larger than %d MiB",
                      WORKER_ANSWER_MAX / 1024 / 1024);
    unsigned char code = (unsigned char)error.code;
    write_all(fd, &code, 1);
    if (error.code == RPC_CODE_COUNT)
        write_all(fd, answer.data, answer.size);
    else
        write_all(fd, error.message, strlen(error.message));
    _exit(0);
}

/* Reap and forget it. */
static void end(struct worker *worker)
{
    loop_close(&worker->request->agent->loop, &worker->output);
    while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    worker->request->state = NULL;
    buffer_deinit(&worker->answer);
    free(worker);
    worker_count--;
}

static void reply(struct request *request, struct buffer *answer)
{
    struct rpc_error error;
    unsigned char code = answer->size ? (unsigned char)answer->data[0] : RPC_INTERNAL;
    if (code != RPC_CODE_COUNT) {
        rpc_error_set(&error, code < RPC_CODE_COUNT ? (enum rpc_code)code : RPC_INTERNAL, "%s",
                      answer->size > 1 ? answer->data + 1 : "the work ended early");
        request_reply_error(request, &error);
        return;
    }
    size_t size = answer->size - 1;
    buffer_consume(answer, 1);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, buffer_steal(answer), MHD_RESPMEM_MUST_FREE);
    MHD_add_response_header(response, "Content-Type", "application/json");
    httpd_reply(&request->http, 200, response);
}

static void on_output(struct loop_source *source, uint32_t events)
{
    (void)events;
    struct worker *worker = container_of(source, struct worker, output);
    char *room = buffer_reserve(&worker->answer, 64 * 1024);
    ssize_t size = room ? read(source->fd, room, 64 * 1024) : 0;
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size > 0) {
        buffer_commit(&worker->answer, (size_t)size);
        return;
    }
    reply(worker->request, &worker->answer);
    end(worker);
}

static void on_peer_gone(struct request *request)
{
    worker_closed(request);
    httpd_resume(&request->http);
}

void worker_closed(struct request *request)
{
    struct worker *worker = request->state;
    if (!worker)
        return;
    kill(worker->pid, SIGKILL);
    end(worker);
}

int worker_run(struct request *request, worker_function *work, const void *context,
               struct rpc_error *error)
{
    int ends[2];
    if (worker_count >= WORKERS_MAX)
        return rpc_error_set(error, RPC_RESOURCE_EXHAUSTED, "too many long calls at once");
    if (pipe2(ends, O_CLOEXEC) < 0)
        return rpc_error_set_errno(error, errno, "the call cannot be started");
    pid_t pid = fork();
    if (pid == 0)
        run_in_copy(work, context, ends[1]);
    close(ends[1]);
    struct worker *worker = xcalloc(1, sizeof *worker);
    if (pid < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ||
        loop_add(&request->agent->loop, &worker->output, ends[0], EPOLLIN, on_output) < 0) {
        int errnum = errno;
        close(ends[0]);
        free(worker);
        if (pid > 0)
            kill(pid, SIGKILL);
        return rpc_error_set_errno(error, errnum, "the call cannot be started");
    }
    worker_count++;
    worker->request = request;
    worker->pid = pid;
    buffer_init(&worker->answer, WORKER_ANSWER_MAX + 64 * 1024);
    request->state = worker;
    httpd_suspend(&request->http);
    request_watch_peer(request, on_peer_gone);
    return 0;
}
