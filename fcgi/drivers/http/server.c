/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/server.h"

#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define LISTEN_FD              0
#define BODY_CHUNK             16384
#define BODY_CHUNK_MAX         (1 << 20)
#define OUTPUT_MAX             (HTTP_RESPONSE_BYTES_MAX + 131072u)
#define LOG_PATH_MAX           200
#define ACCEPT_FAILED_PAUSE_MS 20

static volatile sig_atomic_t stop_requested;
static volatile sig_atomic_t reopen_requested;

static void on_signal(int number)
{
    if (number == SIGHUP)
        reopen_requested = 1;
    else
        stop_requested = 1;
}

/* Bodies hold environments and answers hold tokens; jansson copies both. */
static void wipe_free(void *pointer)
{
    if (pointer)
        mem_wipe(pointer, malloc_usable_size(pointer));
    free(pointer);
}

/* The signals stay blocked but for the wait between two requests: an accept(2) that starts just
 * after a look at a flag would miss one for good, and a signal while libfcgi reads parameters
 * would lose the request. waiting: the mask of that wait. */
static void set_up_signals(sigset_t *waiting)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t ours;
    sigemptyset(&ours);
    for (size_t i = 0; i < 3; i++) {
        int number = (const int[]){SIGTERM, SIGINT, SIGHUP}[i];
        sigaction(number, &action, NULL);
        sigaddset(&ours, number);
    }
    sigprocmask(SIG_BLOCK, &ours, waiting);
    sigdelset(waiting, SIGTERM);
    sigdelset(waiting, SIGINT);
    sigdelset(waiting, SIGHUP);
    /* Before FCGX_Init(), which puts its own handler where the default is. */
    signal(SIGPIPE, SIG_IGN);
}

/* Workers share the listening socket: each waits in its own epoll, EPOLLEXCLUSIVE wakes one of
 * them a connection, and who comes too late must not block in accept(2). */
static int watch_listener(struct error **err)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE};
    int flags = fcntl(LISTEN_FD, F_GETFL);
    if (flags < 0 || fcntl(LISTEN_FD, F_SETFL, flags | O_NONBLOCK) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot use file descriptor 0");
    autoclose int poll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (poll_fd < 0 || epoll_ctl(poll_fd, EPOLL_CTL_ADD, LISTEN_FD, &event) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot wait on file descriptor 0");
    return steal_fd(&poll_fd);
}

/* The body as far as its end record or the limit; 0, or -1 when the connection broke. */
static int read_body(FCGX_Stream *in, struct http_request *request)
{
    for (;;) {
        size_t left = request->body.max - request->body.size;
        size_t want = left < BODY_CHUNK ? left : BODY_CHUNK;
        if (!want) {
            request->body_too_large = FCGX_GetChar(in) != EOF;
            return FCGX_GetError(in) ? -1 : 0;
        }
        char *room = buffer_reserve(&request->body, want);
        int got = FCGX_GetStr(room, (int)want, in);
        buffer_commit(&request->body, got > 0 ? (size_t)got : 0);
        if (got < (int)want)
            return FCGX_GetError(in) ? -1 : 0;
    }
}

static long read_piece(void *context, char *data, size_t size)
{
    FCGX_Stream *in = context;
    int want = size < BODY_CHUNK_MAX ? (int)size : BODY_CHUNK_MAX;
    int got = FCGX_GetStr(data, want, in);
    return got < want && FCGX_GetError(in) ? -1 : got;
}

static int send_piece(void *context, const void *data, size_t size)
{
    FCGX_Stream *out = context;
    for (const char *at = data; size;) {
        int piece = size < BODY_CHUNK_MAX ? (int)size : BODY_CHUNK_MAX;
        if (FCGX_PutStr(at, piece, out) != piece)
            return -1;
        at += piece;
        size -= (size_t)piece;
    }
    return 0;
}

/* The body into memory, or left where it is for the handler. */
static int take_body(const struct http_server *server, FCGX_Stream *in,
                     struct http_request *request)
{
    size_t max = server->body_max;
    if (server->body_max_of)
        max = server->body_max_of(server->context, request, max);
    if (max == HTTP_BODY_LEFT) {
        request->read_body = read_piece;
        request->body_context = in;
        return 0;
    }
    request->body.max = max;
    return max ? read_body(in, request) : 0;
}

static void send_response(FCGX_Stream *out, const struct http_request *request,
                          struct http_response *response)
{
    struct buffer text = BUFFER_INIT(OUTPUT_MAX);
    http_response_format(response, request, &text);
    if (buffer_overflowed(&text)) {
        error_auto err = NULL;
        error_set(&err, ERR_INTERNAL, "the answer is larger than %u bytes",
                  HTTP_RESPONSE_BYTES_MAX);
        http_response_error(response, request, err);
        buffer_clear(&text);
        http_response_format(response, request, &text);
    }
    /* A client that has gone away is not our error. */
    FCGX_PutStr(text.data, (int)text.size, out);
    buffer_wipe(&text);
}

static void log_request(const struct http_request *request, const struct http_response *response)
{
    autofree char *path = xstrndup(request->path, LOG_PATH_MAX);
    int64_t duration_us = clock_monotonic_us() - request->started_us;
    enum log_level level = response->status >= 500 ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO;
    log_event(level, "request", LOG_STR("operation", request->operation),
              LOG_STR("method", request->method), LOG_STR("path", path),
              LOG_INT("status", response->status), LOG_INT("duration_ms", duration_us / 1000),
              LOG_STR("remote_address", request->remote_address),
              LOG_STR("error", response->error_symbol), LOG_STR("reason", response->reason));
}

static void serve_one(const struct http_server *server, FCGX_Request *fcgi)
{
    struct http_request request;
    struct http_response response;
    http_request_init(&request, fcgi->envp, server->body_max);
    http_response_init(&response);
    log_context_set("request_id", request.request_id);
    response.send = send_piece;
    response.send_context = fcgi->out;
    if (take_body(server, fcgi->in, &request) == 0) {
        server->serve(server->context, &request, &response);
        if (!response.begun)
            send_response(fcgi->out, &request, &response);
        if (server->log_requests)
            log_request(&request, &response);
    }
    log_context_clear();
    http_response_deinit(&response);
    http_request_deinit(&request);
}

static void serve_until_stopped(const struct http_server *server, FCGX_Request *fcgi, int poll_fd,
                                const sigset_t *waiting)
{
    unsigned served = 0;
    while (!stop_requested && (!server->max_requests || served < server->max_requests)) {
        struct epoll_event event;
        int ready = epoll_pwait(poll_fd, &event, 1, -1, waiting);
        if (reopen_requested) {
            reopen_requested = 0;
            log_reopen();
        }
        if (ready <= 0 || stop_requested)
            continue;
        /* EAGAIN: another worker was faster. Else: out of descriptors, or the like. */
        int accepted = FCGX_Accept_r(fcgi);
        if (accepted < 0 && accepted != -EAGAIN)
            clock_sleep_ms(ACCEPT_FAILED_PAUSE_MS);
        if (accepted < 0)
            continue;
        serve_one(server, fcgi);
        FCGX_Finish_r(fcgi);
        served++;
    }
    FCGX_ShutdownPending();
}

int http_server_run(const struct http_server *server, struct error **err)
{
    FCGX_Request fcgi;
    sigset_t waiting;
    set_up_signals(&waiting);
    json_set_alloc_funcs(xmalloc, wipe_free);
    if (FCGX_Init() != 0 || FCGX_IsCGI() || FCGX_InitRequest(&fcgi, LISTEN_FD, 0) != 0)
        return error_set(err, ERR_CONFIG,
                         "file descriptor 0 is not a listening FastCGI socket: start this program "
                         "from spawn-fcgi, multiwatch or a socket unit");
    autoclose int poll_fd = watch_listener(err);
    if (poll_fd < 0)
        return -1;
    serve_until_stopped(server, &fcgi, poll_fd, &waiting);
    FCGX_Free(&fcgi, 1);
    return 0;
}
