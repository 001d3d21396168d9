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
#include "agent/framework/rpc_answer.h"
#include "base/mem.h"

struct worker {
    struct request *request;
    struct loop_source output;
    pid_t pid;
    struct buffer answer; /* a byte of enum rpc_code or enum success, then a text or a body */
};

/* Behind the codes of errors. */
enum success { SUCCESS_PLAIN = RPC_CODE_COUNT, SUCCESS_PACKED };

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

__attribute__((noreturn)) static void send_error(const struct rpc_error *error, int fd)
{
    unsigned char code = (unsigned char)error->code;
    write_all(fd, &code, 1);
    write_all(fd, error->message, strlen(error->message));
    _exit(0);
}

/* The time for the answer is spent here as well. */
__attribute__((noreturn)) static void send_answer(const struct request *request,
                                                  struct buffer *answer, int fd)
{
    struct rpc_body body;
    rpc_body_make(request, answer, &body);
    unsigned char code = body.packed ? SUCCESS_PACKED : SUCCESS_PLAIN;
    write_all(fd, &code, 1);
    write_all(fd, body.bytes.data, body.bytes.size);
    _exit(0);
}

__attribute__((noreturn)) static void
run_in_copy(const struct request *request, worker_function *work, const void *context, int fd)
{
    struct buffer answer = BUFFER_INIT(WORKER_ANSWER_MAX);
    struct rpc_error error;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* A connection that the agent closes must not stay open here. */
    if (dup2(fd, STDERR_FILENO + 1) < 0)
        _exit(1);
    close_range(STDERR_FILENO + 2, ~0U, 0);
    fd = STDERR_FILENO + 1;
    int rc = work(context, &answer, &error);
    if (rc == 0 && buffer_overflowed(&answer))
        rc = rpc_error_set(&error, RPC_TOO_LARGE, "the answer is larger than %d MiB",
                           WORKER_ANSWER_MAX / 1024 / 1024);
    if (rc < 0)
        send_error(&error, fd);
    send_answer(request, &answer, fd);
}

/* Reap it. Returns whether it has said all. */
static bool reap(struct worker *worker)
{
    int status;
    loop_close(&worker->request->agent->loop, &worker->output);
    while (waitpid(worker->pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void forget(struct worker *worker)
{
    worker->request->state = NULL;
    buffer_deinit(&worker->answer);
    free(worker);
    worker_count--;
}

static void reply(struct request *request, struct buffer *answer)
{
    struct rpc_error error;
    unsigned char code = answer->size ? (unsigned char)answer->data[0] : RPC_INTERNAL;
    if (code < RPC_CODE_COUNT) {
        rpc_error_set(&error, (enum rpc_code)code, "%s",
                      answer->size > 1 ? answer->data + 1
                                       : "the process of the call ended before the answer");
        request_reply_error(request, &error);
        return;
    }
    buffer_consume(answer, 1);
    struct rpc_body body = {.bytes = *answer, .packed = code == SUCCESS_PACKED};
    buffer_init(answer, answer->max);
    rpc_body_reply(request, &body);
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
    /* The kernel may have killed it in the middle, for want of memory. */
    if (!reap(worker))
        buffer_clear(&worker->answer);
    reply(worker->request, &worker->answer);
    forget(worker);
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
    reap(worker);
    forget(worker);
}

int worker_run(struct request *request, worker_function *work, const void *context,
               struct rpc_error *error)
{
    int ends[2];
    if (worker_count >= WORKERS_MAX)
        return rpc_error_set(error, RPC_RESOURCE_EXHAUSTED,
                             "too many long calls at once; try again when one has ended");
    if (pipe2(ends, O_CLOEXEC) < 0)
        return rpc_error_set_errno(error, errno, "cannot start the call");
    pid_t pid = fork();
    if (pid == 0)
        run_in_copy(request, work, context, ends[1]);
    close(ends[1]);
    struct worker *worker = xcalloc(1, sizeof *worker);
    if (pid < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ||
        loop_add(&request->agent->loop, &worker->output, ends[0], EPOLLIN, on_output) < 0) {
        int errnum = errno;
        close(ends[0]);
        free(worker);
        if (pid > 0)
            kill(pid, SIGKILL);
        return rpc_error_set_errno(error, errnum, "cannot start the call");
    }
    worker_count++;
    worker->request = request;
    worker->pid = pid;
    buffer_init(&worker->answer, 2 * (size_t)WORKER_ANSWER_MAX + 64 * 1024);
    request->state = worker;
    httpd_suspend(&request->http);
    request_watch_peer(request, on_peer_gone);
    return 0;
}
