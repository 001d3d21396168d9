/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/server.h"

#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/trace.h"
#include "http/pace.h"

#define LISTEN_FD              0
#define BODY_CHUNK             16384
#define BODY_CHUNK_MAX         (1 << 20)
#define ANSWER_CHUNK           8192
#define READER_LOOK_MS         1000
#define DRAIN_MAX              (1 << 20)
#define DRAIN_US               200000
#define OUTPUT_MAX             (HTTP_RESPONSE_BYTES_MAX + 131072u)
#define LOG_PATH_MAX           200
#define ACCEPT_FAILED_PAUSE_MS 20

/* Requests of a worker that wait for room in its pool. */
#define WAITING_MAX         512
#define WAITING_BYTES_MAX   (4u << 20) /* of their bodies */
#define WAITING_TENANTS_MAX 16
#define WAITING_LOOK_MS     4
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

/* Block the signals except in the wait between two requests. Otherwise an accept(2) that starts
 * just after the check of a flag would miss a signal. A signal while libfcgi reads parameters would
 * lose the request. waiting: the mask of this wait. */
static void set_up_signals(sigset_t *waiting)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t ours;
    sigemptyset(&ours);
    /* multiwatch 1.0 sends SIGQUIT although it is configured for SIGTERM. */
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

/* Workers share the listening socket: each waits in its own epoll, EPOLLEXCLUSIVE wakes one worker
 * for each connection, and a late worker must not block in accept(2). */
static int watch_listener(struct error **err)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE};
    int flags = fcntl(LISTEN_FD, F_GETFL);
    if (flags < 0 || fcntl(LISTEN_FD, F_SETFL, flags | O_NONBLOCK) < 0)
        return error_set_errno(err, ERR_CONFIG, errno,
                               "cannot set file descriptor 0 to non-blocking mode");
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
    uint64_t body_got, sent;
    bool is_cut;                  /* the answer ended before its end */
    struct pace sending, reading; /* the client's speed with the body and with the answer */
    TAILQ_ENTRY(exchange) entry;
};
TAILQ_HEAD(exchanges, exchange);

/* --- bodies --- */

/* Read the available part of the body, at least a byte: the library alone would wait until size
 * bytes have come, even at a byte a second. 0 at the end, -1 when it broke off or is too slow. */
static long read_some(struct exchange *exchange, char *data, size_t size)
{
    FCGX_Stream *in = exchange->fcgi.in;
    int64_t started_us = clock_monotonic_us();
    int first = FCGX_GetChar(in);
    pace_waited(&exchange->sending, clock_monotonic_us() - started_us);
    if (first == EOF)
        return FCGX_GetError(in) ? -1 : 0;
    size_t there = (size_t)(in->stop - in->rdNext) + 1;
    size_t got = there < size ? there : size;
    data[0] = (char)first;
    if (got > 1)
        FCGX_GetStr(data + 1, (int)(got - 1), in);
    mem_wipe(in->rdNext - got, got); /* the library would keep it */
    exchange->body_got += got;
    bool is_too_slow = pace_is_too_slow(&exchange->sending);
    pace_moved(&exchange->sending, got);
    if (!is_too_slow || !pace_is_too_slow(&exchange->sending))
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

/* Wait until nginx takes a piece: it stops when its buffers for the answer are full and the client
 * does not read. False: the client is too slow. */
static bool wait_for_reader(struct exchange *exchange)
{
    struct pollfd output = {.fd = exchange->fcgi.ipcFd, .events = POLLOUT};
    if (exchange->sent < ANSWER_CHUNK)
        return true; /* a socket that is still empty */
    while (!pace_is_too_slow(&exchange->reading)) {
        int64_t started_us = clock_monotonic_us();
        if (poll(&output, 1, READER_LOOK_MS) != 0)
            return true;
        pace_waited(&exchange->reading, clock_monotonic_us() - started_us);
    }
    log_warning("a client reads the answer too slowly; closing its connection");
    return false;
}

/* In pieces of which each fits into the socket when it is writable, so that no write waits. */
static int send_piece(void *context, const void *data, size_t size)
{
    struct exchange *exchange = context;
    for (const char *at = data; size;) {
        int piece = size < ANSWER_CHUNK ? (int)size : ANSWER_CHUNK;
        exchange->is_cut =
            !wait_for_reader(exchange) || FCGX_PutStr(at, piece, exchange->fcgi.out) != piece;
        if (exchange->is_cut)
            return -1;
        pace_moved(&exchange->reading, (size_t)piece);
        exchange->sent += (size_t)piece;
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

/* Read the rest of an unwanted body. After nginx has promised a client to keep the connection, it
 * ends one with unread bytes. So read the bytes that arrive at once, for a bounded time. */
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

static void send_response(struct exchange *exchange, struct http_response *response)
{
    const struct http_request *request = &exchange->request;
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
    send_piece(exchange, text.data, text.size);
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
    enum log_level level = response->status >= 500 ? LOG_LEVEL_ERROR
                           : response->is_quiet    ? LOG_LEVEL_DEBUG
                                                   : LOG_LEVEL_INFO;
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
    /* A user with several teams has one place, so that he cannot take all. */
    struct waiting_tenant {
        uint64_t tenant;
        unsigned count; /* 0: a free place */
    } tenants[WAITING_TENANTS_MAX];
};

static int64_t give_up_us(const struct exchange *exchange)
{
    return exchange->request.started_us + (int64_t)exchange->request.wait_ms * 1000;
}

static uint64_t tenant_of(const struct exchange *exchange)
{
    const struct pool_claim *claim = &exchange->request.claim;
    return claim->user ? claim->user : claim->team;
}

/* The place of a tenant, or a free place, or NULL. */
static struct waiting_tenant *place_of(struct waiting *waiting, uint64_t tenant)
{
    struct waiting_tenant *free_place = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(waiting->tenants); i++) {
        struct waiting_tenant *place = &waiting->tenants[i];
        if (place->count && place->tenant == tenant)
            return place;
        if (!place->count)
            free_place = place;
    }
    return free_place;
}

static unsigned waiting_of_team(const struct waiting *waiting, uint64_t team)
{
    unsigned count = 0;
    const struct exchange *exchange;
    TAILQ_FOREACH(exchange, &waiting->list, entry)
    count += team && exchange->request.claim.team == team;
    return count;
}

static void keep(struct waiting *waiting, struct exchange *exchange)
{
    struct waiting_tenant *place = place_of(waiting, tenant_of(exchange));
    COUNT(COUNT_REQUEST_WAITS, operation_of(&exchange->request));
    place->tenant = tenant_of(exchange);
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
    place_of(waiting, tenant_of(exchange))->count--;
    waiting->count--;
    waiting->bytes -= exchange->request.body.size;
}

/* One tenant's requests cannot take all the places. */
static bool may_wait(struct waiting *waiting, const struct exchange *exchange)
{
    const struct http_request *request = &exchange->request;
    const struct waiting_tenant *place = place_of(waiting, tenant_of(exchange));
    if (!request->must_wait || stop_requested || waiting->count >= WAITING_MAX ||
        request->body.size > WAITING_BYTES_MAX - waiting->bytes ||
        clock_monotonic_us() >= give_up_us(exchange))
        return false;
    return place && place->count < WAITING_MAX / 2 &&
           waiting_of_team(waiting, request->claim.team) < WAITING_MAX / 2;
}

/* While this worker is busy all its others wait. A tenant with more waiting requests here than
 * another tenant leaves the worker to the other one. */
static bool yields(struct waiting *waiting, const struct exchange *exchange)
{
    unsigned own = place_of(waiting, tenant_of(exchange))->count;
    for (size_t i = 0; i < ARRAY_SIZE(waiting->tenants); i++)
        if (waiting->tenants[i].count && waiting->tenants[i].count < own)
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
    if (exchange->is_cut || is_read(exchange))
        FCGX_Detach(&exchange->fcgi);
    clear_log_context();
    http_request_deinit(&exchange->request);
    /* The library's rest of a cut answer would wait for the same reader. */
    if (!exchange->is_cut)
        FCGX_Finish_r(&exchange->fcgi);
    FCGX_Free(&exchange->fcgi, 1);
    free(exchange);
}

static void answer(const struct http_server *server, struct exchange *exchange,
                   struct http_response *response)
{
    drain_body(exchange);
    if (!response->begun)
        send_response(exchange, response);
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
    response.send_context = exchange;
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
    pace_init(&exchange->sending, server->body_rate_min, server->body_grace_s);
    pace_init(&exchange->reading, server->body_rate_min, server->body_grace_s);
    http_request_init(&exchange->request, exchange->fcgi.envp, server->body_max);
    if (take_body(exchange) == 0)
        return serve_or_wait(server, exchange, waiting);
    finish(exchange);
    return true;
}

/* Serve the oldest request with room, so that a new connection comes between two. A request that
 * has waited long enough is answered in any case. Returns whether there was room for one. */
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

/* nobody_comes: no connection waits to be accepted, so lent workers keep no other team waiting. */
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
        error_set(err, ERR_CONFIG, "cannot initialise the FastCGI library");
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

/* Whether the worker checks again before it rests: it had room for a request, or would have without
 * new connections. */
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

/* RLIMIT_DATA counts the "data" of statm: heap, anonymous mappings and stacks of threads. */
static int bound_memory(size_t most, struct error **err)
{
    unsigned long data_pages;
    struct rlimit limit;
    autofclose FILE *statm = fopen("/proc/self/statm", "re");
    if (!statm || fscanf(statm, "%*u %*u %*u %*u %*u %lu", &data_pages) != 1 ||
        getrlimit(RLIMIT_DATA, &limit) < 0)
        return error_set_errno(err, ERR_CONFIG, errno,
                               "cannot read the memory use of this process");
    limit.rlim_cur = data_pages * (rlim_t)sysconf(_SC_PAGESIZE) + most;
    if (limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_DATA, &limit) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot limit the memory of this process");
    return 0;
}

int http_server_run(const struct http_server *server, struct error **err)
{
    sigset_t signals;
    set_up_signals(&signals);
    if (FCGX_Init() != 0 || FCGX_IsCGI())
        return error_set(err, ERR_CONFIG,
                         "file descriptor 0 is not a listening FastCGI socket: start this program "
                         "from spawn-fcgi, multiwatch or a socket unit");
    autoclose int poll_fd = watch_listener(err);
    if (poll_fd < 0 || (server->memory_max && bound_memory(server->memory_max, err) < 0))
        return -1;
    serve_until_stopped(server, poll_fd, &signals);
    return 0;
}
