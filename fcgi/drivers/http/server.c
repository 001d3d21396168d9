/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/server.h"

#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/trace.h"

#define LISTEN_FD              0
#define BODY_CHUNK             16384
#define BODY_CHUNK_MAX         (1 << 20)
#define DRAIN_MAX              (1 << 20)
#define DRAIN_US               200000
#define OUTPUT_MAX             (HTTP_RESPONSE_BYTES_MAX + 131072u)
#define LOG_PATH_MAX           200
#define ACCEPT_FAILED_PAUSE_MS 20

/* Requests of a worker that wait for room in its pool. */
#define WAITING_MAX       512
#define WAITING_BYTES_MAX (4u << 20) /* of their bodies */
#define WAITING_TEAMS_MAX 16
#define WAITING_LOOK_MS   4
/* Requests whose handler waits for something. */
#define PENDING_MAX     256
#define PENDING_LOOK_MS 2

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
    /* SIGQUIT is what multiwatch 1.0 sends where it was told to send SIGTERM. */
    static const int numbers[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP};
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        sigaction(numbers[i], &action, NULL);
        sigaddset(&ours, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, &ours, waiting);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        sigdelset(waiting, numbers[i]);
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

/* One request, and its connection. */
struct exchange {
    FCGX_Request fcgi;
    const struct http_server *server;
    struct http_request request;
    int64_t body_wait_us; /* time that went by while nothing of the body was there */
    uint64_t body_got;
    TAILQ_ENTRY(exchange) entry;
};
TAILQ_HEAD(exchanges, exchange);

/* --- bodies --- */

static bool body_is_too_slow(const struct exchange *exchange)
{
    const struct http_server *server = exchange->server;
    int64_t wait_ms = exchange->body_wait_us / 1000;
    return server->body_rate_min && wait_ms > (int64_t)server->body_grace_s * 1000 &&
           exchange->body_got < (uint64_t)wait_ms * server->body_rate_min / 1000;
}

/* What is there of the body, at least a byte: the library by itself would wait until size bytes
 * have come, a byte a second or not. 0 at the end, -1 when it broke off or is too slow. */
static long read_some(struct exchange *exchange, char *data, size_t size)
{
    FCGX_Stream *in = exchange->fcgi.in;
    int64_t started_us = clock_monotonic_us();
    int first = FCGX_GetChar(in);
    exchange->body_wait_us += clock_monotonic_us() - started_us;
    if (first == EOF)
        return FCGX_GetError(in) ? -1 : 0;
    size_t there = (size_t)(in->stop - in->rdNext) + 1;
    size_t got = there < size ? there : size;
    data[0] = (char)first;
    if (got > 1)
        FCGX_GetStr(data + 1, (int)(got - 1), in);
    exchange->body_got += got;
    if (!body_is_too_slow(exchange))
        return (long)got;
    exchange->request.body_too_slow = true;
    return -1;
}

/* The body as far as its end record or the limit; 0, or -1 when the connection broke. */
static int read_body(struct http_request *request)
{
    struct exchange *exchange = request->body_context;
    char piece[BODY_CHUNK];
    request->take_body = NULL;
    for (;;) {
        size_t left = request->body.max - request->body.size;
        long got = read_some(exchange, piece, left && left < sizeof piece ? left : sizeof piece);
        if (got <= 0)
            return (int)got;
        request->body_too_large = !left;
        if (!left)
            return 0;
        buffer_append(&request->body, piece, (size_t)got);
        mem_wipe(piece, (size_t)got);
    }
}

static long read_piece(void *context, char *data, size_t size)
{
    return read_some(context, data, size < BODY_CHUNK_MAX ? size : BODY_CHUNK_MAX);
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

/* The body into memory, at once or when it is asked for, or left where it is for the handler. */
static int take_body(struct exchange *exchange)
{
    const struct http_server *server = exchange->server;
    struct http_request *request = &exchange->request;
    size_t max = server->body_max;
    if (server->body_max_of)
        max = server->body_max_of(server->context, request, max);
    request->body_context = exchange;
    if (max == HTTP_BODY_LEFT) {
        request->read_body = read_piece;
        return 0;
    }
    request->body.max = max;
    if (max && server->late_body)
        request->take_body = read_body;
    return max && !server->late_body ? read_body(request) : 0;
}

/* What a client has sent of a body that nobody wanted. nginx ends a connection on which some of it
 * is left, after it has promised to keep it; so what comes at once is taken, for a bounded time. */
static void drain_body(struct exchange *exchange)
{
    int64_t until_us = clock_monotonic_us() + DRAIN_US;
    int64_t length = http_content_length(&exchange->request);
    char piece[BODY_CHUNK];
    if (!exchange->server->body_max || exchange->request.body_too_slow || length > DRAIN_MAX)
        return;
    while (!exchange->fcgi.in->isClosed && (int64_t)exchange->body_got < length) {
        struct pollfd input = {.fd = exchange->fcgi.ipcFd, .events = POLLIN};
        int64_t left_us = until_us - clock_monotonic_us();
        if (left_us <= 0 || (exchange->fcgi.in->rdNext == exchange->fcgi.in->stop &&
                             poll(&input, 1, (int)(left_us / 1000)) <= 0))
            return;
        if (read_some(exchange, piece, sizeof piece) <= 0)
            return;
    }
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

/* Which of the table of endpoints; a path that is in none is not worth a series. */
static const char *operation_of(const struct http_request *request)
{
    return request->operation ? request->operation : "none";
}

static void count_request(const struct http_request *request, const struct http_response *response)
{
    char status[12];
    snprintf(status, sizeof status, "%d", response->status);
    COUNT(COUNT_REQUESTS, operation_of(request), status);
    OBSERVE(COUNT_REQUEST_SECONDS, clock_monotonic_us() - request->started_us,
            operation_of(request));
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

/* --- requests that wait --- */

/* A worker keeps them on their connections while it serves others. */
struct waiting {
    struct exchanges pending; /* http_request.pending */
    unsigned pending_count;
    struct exchanges list; /* for room in the pool */
    unsigned count;
    size_t bytes; /* of bodies */
    struct waiting_team {
        uint64_t team;
        unsigned count; /* 0: a free place */
    } teams[WAITING_TEAMS_MAX];
};

static int64_t give_up_us(const struct exchange *exchange)
{
    return exchange->request.started_us + (int64_t)exchange->request.wait_ms * 1000;
}

/* The place of a team, or a free one (of nobody), or NULL. */
static struct waiting_team *place_of(struct waiting *waiting, uint64_t team)
{
    struct waiting_team *free_place = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(waiting->teams); i++) {
        struct waiting_team *place = &waiting->teams[i];
        if (place->count && place->team == team)
            return place;
        if (!place->count)
            free_place = place;
    }
    return free_place;
}

static void keep(struct waiting *waiting, struct exchange *exchange)
{
    struct waiting_team *place = place_of(waiting, exchange->request.claim.team);
    COUNT(COUNT_REQUEST_WAITS, operation_of(&exchange->request));
    place->team = exchange->request.claim.team;
    place->count++;
    waiting->count++;
    waiting->bytes += exchange->request.body.size;
    TAILQ_INSERT_TAIL(&waiting->list, exchange, entry);
}

static void keep_pending(struct waiting *waiting, struct exchange *exchange)
{
    http_request_drop_body(&exchange->request);
    waiting->pending_count++;
    TAILQ_INSERT_TAIL(&waiting->pending, exchange, entry);
}

static void release(struct waiting *waiting, struct exchange *exchange)
{
    TAILQ_REMOVE(&waiting->list, exchange, entry);
    place_of(waiting, exchange->request.claim.team)->count--;
    waiting->count--;
    waiting->bytes -= exchange->request.body.size;
}

/* Nobody's requests take all the places. */
static bool may_wait(struct waiting *waiting, const struct exchange *exchange)
{
    const struct http_request *request = &exchange->request;
    const struct waiting_team *place = place_of(waiting, request->claim.team);
    if (!request->must_wait || stop_requested || waiting->count >= WAITING_MAX ||
        request->body.size > WAITING_BYTES_MAX - waiting->bytes ||
        clock_monotonic_us() >= give_up_us(exchange))
        return false;
    return place && place->count < WAITING_MAX / 2;
}

/* While this worker is busy all its others wait. A team that has more of them here than another one
 * leaves it to the workers where that is not so. */
static bool yields(struct waiting *waiting, const struct exchange *exchange)
{
    unsigned own = place_of(waiting, exchange->request.claim.team)->count;
    for (size_t i = 0; i < ARRAY_SIZE(waiting->teams); i++)
        if (waiting->teams[i].count && waiting->teams[i].count < own)
            return true;
    return false;
}

static void set_log_context(const struct http_request *request)
{
    log_context_set("request_id", request->request_id);
    trace_begin(http_header(request, "traceparent"));
}

static void clear_log_context(void)
{
    trace_end();
    log_context_clear();
}

/* Whether nginx has said all: with the record that ends a body, or of a request that has none,
 * whose record may still be in the library. */
static bool is_read(const struct exchange *exchange)
{
    char next;
    if (exchange->fcgi.in->isClosed)
        return true;
    return str_equal(exchange->request.method, "GET") &&
           recv(exchange->fcgi.ipcFd, &next, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* libfcgi waits until nginx has read the answer and closed, so that nothing unread takes the answer
 * with it. Where all is read the connection is detached, and closed at once. */
static void finish(struct exchange *exchange)
{
    if (is_read(exchange))
        FCGX_Detach(&exchange->fcgi);
    clear_log_context();
    http_request_deinit(&exchange->request);
    FCGX_Finish_r(&exchange->fcgi);
    FCGX_Free(&exchange->fcgi, 1);
    free(exchange);
}

static void answer(const struct http_server *server, struct exchange *exchange,
                   struct http_response *response)
{
    drain_body(exchange);
    if (!response->begun)
        send_response(exchange->fcgi.out, &exchange->request, response);
    if (!server->log_requests)
        return;
    count_request(&exchange->request, response);
    log_request(&exchange->request, response);
}

/* Takes the exchange. Whether it was answered; else it waits. */
static bool serve_or_wait(const struct http_server *server, struct exchange *exchange,
                          struct waiting *waiting)
{
    struct http_response response;
    http_response_init(&response);
    set_log_context(&exchange->request);
    response.send = send_piece;
    response.send_context = exchange->fcgi.out;
    exchange->request.may_pend = !stop_requested && waiting->pending_count < PENDING_MAX;
    server->serve(server->context, &exchange->request, &response);
    bool pends = exchange->request.pending;
    bool waits = !pends && may_wait(waiting, exchange);
    if (!pends && !waits)
        answer(server, exchange, &response);
    http_response_deinit(&response);
    if (pends) {
        clear_log_context();
        keep_pending(waiting, exchange);
    } else if (waits) {
        clear_log_context();
        keep(waiting, exchange);
    } else {
        finish(exchange);
    }
    if (server->pool)
        pool_leave(server->pool);
    return !pends && !waits;
}

static void serve_pending(const struct http_server *server, struct waiting *waiting)
{
    for (unsigned left = waiting->pending_count; left; left--) {
        struct exchange *exchange = TAILQ_FIRST(&waiting->pending);
        TAILQ_REMOVE(&waiting->pending, exchange, entry);
        waiting->pending_count--;
        serve_or_wait(server, exchange, waiting);
    }
}

/* Takes the exchange, which has been accepted. Whether there was room for it. */
static bool serve_one(const struct http_server *server, struct exchange *exchange,
                      struct waiting *waiting)
{
    http_request_init(&exchange->request, exchange->fcgi.envp, server->body_max);
    if (take_body(exchange) == 0)
        return serve_or_wait(server, exchange, waiting);
    finish(exchange);
    return true;
}

/* The oldest for which there is room, so that a new connection comes between two of them. One that
 * has waited long enough is answered, whatever comes of it. Whether there was room for one. */
static bool serve_oldest(const struct http_server *server, struct waiting *waiting)
{
    bool served = false;
    struct exchange *next = TAILQ_FIRST(&waiting->list);
    for (unsigned left = waiting->count; left; left--) {
        struct exchange *exchange = next;
        struct http_request *request = &exchange->request;
        next = TAILQ_NEXT(exchange, entry);
        bool over = stop_requested || clock_monotonic_us() >= give_up_us(exchange);
        bool shut = yields(waiting, exchange);
        if (!over && (served || shut || !pool_has_room(server->pool, &request->claim)))
            continue;
        release(waiting, exchange);
        http_request_rewind(request);
        pool_shut(server->pool, shut);
        served |= serve_or_wait(server, exchange, waiting) && !over;
        pool_shut(server->pool, false);
    }
    return served;
}

/* nobody_comes: no connection waits to be accepted, so that what is lent keeps no other team
 * waiting. */
static bool serve_waiting(const struct http_server *server, struct waiting *waiting,
                          bool nobody_comes)
{
    bool served = serve_oldest(server, waiting);
    if (served || !nobody_comes || !waiting->count)
        return served;
    pool_lend(server->pool, true);
    served = serve_oldest(server, waiting);
    pool_lend(server->pool, false);
    return served;
}

/* --- the loop --- */

static struct exchange *accept_one(const struct http_server *server, struct error **err)
{
    struct exchange *exchange = xcalloc(1, sizeof *exchange);
    exchange->server = server;
    if (FCGX_InitRequest(&exchange->fcgi, LISTEN_FD, 0) != 0) {
        free(exchange);
        error_set(err, ERR_CONFIG, "cannot prepare for requests");
        return NULL;
    }
    /* EAGAIN: another worker was faster. Else: out of descriptors, or the like. */
    int accepted = FCGX_Accept_r(&exchange->fcgi);
    if (accepted == 0)
        return exchange;
    if (accepted != -EAGAIN)
        clock_sleep_ms(ACCEPT_FAILED_PAUSE_MS);
    FCGX_Free(&exchange->fcgi, 1);
    free(exchange);
    return NULL;
}

/* Whether the worker looks again before it rests: it had room for one, or would have if nobody
 * came. */
static bool goes_on(const struct waiting *waiting, bool had_room)
{
    const struct exchange *oldest = TAILQ_FIRST(&waiting->list);
    return had_room || (oldest && oldest->request.claim.borrows);
}

/* How long the worker may wait for a connection; -1: for ever. */
static int look_in_ms(const struct waiting *waiting, bool had_room)
{
    if (waiting->count && goes_on(waiting, had_room))
        return 0;
    if (waiting->pending_count)
        return PENDING_LOOK_MS;
    return waiting->count ? WAITING_LOOK_MS : -1;
}

/* A worker that had room for one looks for the next at once. One that had none for those who wait
 * leaves new connections to others for a moment, who may have. */
static void serve_until_stopped(const struct http_server *server, int poll_fd,
                                const sigset_t *signals)
{
    struct waiting waiting = {.list = TAILQ_HEAD_INITIALIZER(waiting.list),
                              .pending = TAILQ_HEAD_INITIALIZER(waiting.pending)};
    unsigned served = 0;
    bool had_room = false;
    while (!stop_requested && (!server->max_requests || served < server->max_requests)) {
        struct epoll_event event;
        int wait_ms = look_in_ms(&waiting, had_room);
        int ready = epoll_pwait(poll_fd, &event, 1, wait_ms, signals);
        if (reopen_requested) {
            reopen_requested = 0;
            log_reopen();
        }
        if (stop_requested)
            break;
        serve_pending(server, &waiting);
        had_room = serve_waiting(server, &waiting, ready == 0);
        error_auto ignored = NULL;
        if (ready > 0 && waiting.count && !goes_on(&waiting, had_room))
            clock_sleep_ms(1);
        struct exchange *exchange = ready > 0 ? accept_one(server, &ignored) : NULL;
        if (!exchange)
            continue;
        had_room |= serve_one(server, exchange, &waiting);
        served++;
    }
    while (waiting.count && !stop_requested) {
        clock_sleep_ms(WAITING_LOOK_MS);
        serve_waiting(server, &waiting, true);
    }
    serve_waiting(server, &waiting, true);
    while (waiting.pending_count) {
        serve_pending(server, &waiting);
        clock_sleep_ms(PENDING_LOOK_MS);
    }
    FCGX_ShutdownPending();
}

int http_server_run(const struct http_server *server, struct error **err)
{
    sigset_t signals;
    set_up_signals(&signals);
    json_set_alloc_funcs(xmalloc, wipe_free);
    if (FCGX_Init() != 0 || FCGX_IsCGI())
        return error_set(err, ERR_CONFIG,
                         "file descriptor 0 is not a listening FastCGI socket: start this program "
                         "from spawn-fcgi, multiwatch or a socket unit");
    autoclose int poll_fd = watch_listener(err);
    if (poll_fd < 0)
        return -1;
    serve_until_stopped(server, poll_fd, &signals);
    return 0;
}
