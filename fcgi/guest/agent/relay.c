/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/relay_head.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

#define LINKS_MAX 1024

/* For the head of a request, and for the next bytes of the server when the client has left. */
#define HEAD_TIMEOUT_MS (15 * 1000)
#define IDLE_TIMEOUT_MS (4 * 3600 * 1000LL)

#define PIECE_MAX       (64 * 1024)
#define PIECES_PER_TURN 4

/* One end of a link, with the bytes that wait to be written to it. */
struct side {
    struct link *link;
    struct loop_source source;
    struct side *other;
    char *waiting; /* NULL: none */
    size_t waiting_size, waiting_offset;
    bool at_end; /* nothing more comes from it */
    bool shut;   /* it was told that nothing more comes to it */
};

struct link {
    LIST_ENTRY(link) entry;
    struct relay *relay;
    enum { LINK_HEAD, LINK_CONNECTING, LINK_OPEN } state;
    struct side client, server;
    struct buffer head; /* of the request, later of the answer */
    bool answers;       /* the answer has begun */
    uint16_t port;
    enum { TRY_OWN, TRY_V4, TRY_V6, TRY_END } address;
    int64_t active_at_ms;
    struct loop_timer timer;
};

struct relay {
    struct agent *agent;
    struct loop_listener listener;
    LIST_HEAD(, link) links;
    size_t link_count;
};

static void on_side(struct loop_source *source, uint32_t events);
static void connect_to_server(struct link *link);

static struct loop *loop_of(struct link *link)
{
    return &link->relay->agent->loop;
}

static void close_side(struct side *side)
{
    loop_close(loop_of(side->link), &side->source);
    free(side->waiting);
    side->waiting = NULL;
}

static void link_free(struct link *link)
{
    struct relay *relay = link->relay;
    close_side(&link->client);
    close_side(&link->server);
    loop_timer_disarm(loop_of(link), &link->timer);
    buffer_wipe(&link->head);
    LIST_REMOVE(link, entry);
    if (relay->link_count-- == LINKS_MAX)
        loop_change(&relay->agent->loop, &relay->listener.source, EPOLLIN);
    free(link);
}

/* The edge replaces this answer with its own; it only has to be valid. */
static void refuse(struct link *link, const char *status_line)
{
    char answer[128];
    int size =
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status_line);
    if (send(link->client.source.fd, answer, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        shutdown(link->client.source.fd, SHUT_WR);
    link_free(link);
}

static void on_timer(struct loop_timer *timer)
{
    struct link *link = container_of(timer, struct link, timer);
    bool may_idle = link->state == LINK_OPEN && !link->client.at_end;
    int64_t ends_at_ms = link->active_at_ms + (may_idle ? IDLE_TIMEOUT_MS : HEAD_TIMEOUT_MS);
    if (clock_monotonic_ms() < ends_at_ms)
        loop_timer_arm(loop_of(link), timer, ends_at_ms, on_timer);
    else
        link_free(link);
}

static void watch_what_is_useful(struct side *side)
{
    uint32_t events = 0;
    if (!side->at_end && !side->other->waiting)
        events |= EPOLLIN;
    if (side->waiting)
        events |= EPOLLOUT;
    loop_change(loop_of(side->link), &side->source, events);
}

/* Write waiting bytes. Returns -1 when the connection is broken. */
static int flush(struct side *side)
{
    while (side->waiting) {
        ssize_t size = send(side->source.fd, side->waiting + side->waiting_offset,
                            side->waiting_size - side->waiting_offset, MSG_NOSIGNAL);
        if (size < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -1;
        side->waiting_offset += (size_t)size;
        if (side->waiting_offset == side->waiting_size) {
            free(side->waiting);
            side->waiting = NULL;
        }
    }
    return 0;
}

static int give(struct side *side, const char *data, size_t size)
{
    side->waiting = xmemdup(data, size);
    side->waiting_size = size;
    side->waiting_offset = 0;
    return flush(side);
}

/* Hold the server's bytes back until its answer begins. Returns -1 when there will be none: without
 * one the edge says why. */
static int begin_answer(struct link *link)
{
    size_t interim;
    char *room = buffer_reserve(&link->head, 8192);
    if (!room)
        return -1;
    ssize_t size = recv(link->server.source.fd, room, 8192, 0);
    if (size <= 0)
        return size < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    buffer_commit(&link->head, (size_t)size);
    int begins = relay_answer_begins(link->head.data, link->head.size, &interim);
    buffer_consume(&link->head, interim);
    if (begins <= 0)
        return begins;
    link->answers = true;
    int rc = give(&link->client, link->head.data, link->head.size);
    buffer_deinit(&link->head);
    return rc;
}

/* Pass on the bytes from one side. Returns -1 when either connection is broken. */
static int pass(struct side *from)
{
    static char piece[PIECE_MAX];
    struct side *to = from->other;
    for (int i = 0; i < PIECES_PER_TURN && !from->at_end && !to->waiting; i++) {
        ssize_t size = recv(from->source.fd, piece, sizeof piece, 0);
        if (size < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -1;
        if (size == 0) {
            from->at_end = true;
            break;
        }
        ssize_t sent = send(to->source.fd, piece, (size_t)size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        sent = sent < 0 ? 0 : sent;
        if (sent < size && give(to, piece + sent, (size_t)(size - sent)) < 0)
            return -1;
    }
    if (from->at_end && !to->waiting && !to->shut) {
        to->shut = true;
        shutdown(to->source.fd, SHUT_WR);
    }
    return 0;
}

static void carry_on(struct link *link)
{
    bool had_left = link->client.at_end;
    link->active_at_ms = clock_monotonic_ms();
    /* The server first: it may have answered, and closed, before it read the whole request. */
    if (flush(&link->client) < 0 ||
        (link->answers ? pass(&link->server) : begin_answer(link)) < 0 ||
        flush(&link->server) < 0 || pass(&link->client) < 0 ||
        (link->client.shut && link->server.shut)) {
        link_free(link);
        return;
    }
    watch_what_is_useful(&link->client);
    watch_what_is_useful(&link->server);
    /* A client that leaves seems only half closed until the server sends something. */
    if (link->client.at_end && !had_left)
        on_timer(&link->timer);
}

static void server_is_there(struct link *link)
{
    const int on = 1;
    setsockopt(link->server.source.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    link->state = LINK_OPEN;
    int rc = give(&link->server, link->head.data, link->head.size);
    buffer_wipe(&link->head);
    if (rc < 0)
        link_free(link);
    else
        carry_on(link);
}

static void server_is_not_there(struct link *link)
{
    close_side(&link->server);
    if (++link->address == TRY_END) {
        /* An answer would pass for the server's own. Without one the edge asks who listens, and
         * says so. */
        link_free(link);
        return;
    }
    connect_to_server(link);
}

/* The sandbox's own address comes first: a server on all addresses takes what comes from 127.0.0.1
 * for local. */
static socklen_t find_address(const struct link *link, struct sockaddr_storage *address)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;
    socklen_t size = sizeof *address;
    if (link->address == TRY_V6) {
        *(struct sockaddr_in6 *)address = (struct sockaddr_in6){.sin6_family = AF_INET6,
                                                                .sin6_port = htons(link->port),
                                                                .sin6_addr = IN6ADDR_LOOPBACK_INIT};
        return sizeof(struct sockaddr_in6);
    }
    if (link->address == TRY_V4 ||
        getsockname(link->client.source.fd, (struct sockaddr *)address, &size) < 0)
        *v4 =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    v4->sin_port = htons(link->port);
    return sizeof *v4;
}

static void connect_to_server(struct link *link)
{
    struct sockaddr_storage address;
    socklen_t size = find_address(link, &address);
    link->state = LINK_CONNECTING;
    loop_change(loop_of(link), &link->client.source, 0);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool connected = fd >= 0 && connect(fd, (const struct sockaddr *)&address, size) == 0;
    if (fd >= 0 && !connected && errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    if (fd < 0) {
        server_is_not_there(link);
        return;
    }
    if (loop_add(loop_of(link), &link->server.source, fd, EPOLLOUT, on_side) < 0)
        close(fd);
    if (link->server.source.fd < 0)
        refuse(link, "503 Service Unavailable");
    else if (connected)
        server_is_there(link);
}

static void finish_connecting(struct link *link)
{
    int errnum = 0;
    socklen_t size = sizeof errnum;
    getsockopt(link->server.source.fd, SOL_SOCKET, SO_ERROR, &errnum, &size);
    if (errnum)
        server_is_not_there(link);
    else
        server_is_there(link);
}

static void read_head(struct link *link)
{
    char *room = buffer_reserve(&link->head, 8192);
    if (!room) {
        refuse(link, "431 Request Header Fields Too Large");
        return;
    }
    ssize_t size = recv(link->client.source.fd, room, 8192, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0) {
        link_free(link);
        return;
    }
    buffer_commit(&link->head, (size_t)size);
    struct relay_head head;
    ssize_t head_size = relay_head_parse(link->head.data, link->head.size, &head);
    const struct shared_secret *secret = &link->relay->agent->secret;
    if (head_size == 0)
        return;
    if (!secret->known)
        refuse(link, "503 Service Unavailable");
    else if (head_size > 0 &&
             (!head.secret || !shared_secret_matches(secret, head.secret, head.secret_size)))
        refuse(link, "401 Unauthorized");
    else if (head_size < 0 || !head.port)
        refuse(link, "400 Bad Request");
    else {
        link->port = head.port;
        link->head.size = relay_head_strip(link->head.data, (size_t)head_size, link->head.size);
        connect_to_server(link);
    }
}

static void on_side(struct loop_source *source, uint32_t events)
{
    (void)events;
    struct link *link = container_of(source, struct side, source)->link;
    if (link->state == LINK_HEAD)
        read_head(link);
    else if (link->state == LINK_CONNECTING)
        finish_connecting(link);
    else
        carry_on(link);
}

static void link_new(struct relay *relay, int fd)
{
    const int on = 1;
    struct link *link = xcalloc(1, sizeof *link);
    link->relay = relay;
    link->client = (struct side){.link = link, .source.fd = -1, .other = &link->server};
    link->server = (struct side){.link = link, .source.fd = -1, .other = &link->client};
    buffer_init(&link->head, RELAY_HEAD_MAX);
    link->active_at_ms = clock_monotonic_ms();
    LIST_INSERT_HEAD(&relay->links, link, entry);
    relay->link_count++;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    loop_timer_arm(loop_of(link), &link->timer, link->active_at_ms + HEAD_TIMEOUT_MS, on_timer);
    if (loop_add(loop_of(link), &link->client.source, fd, EPOLLIN, on_side) < 0) {
        close(fd);
        link_free(link);
    }
}

static void on_connection(struct loop_source *source, uint32_t events)
{
    (void)events;
    struct relay *relay = container_of(source, struct relay, listener.source);
    struct loop *loop = &relay->agent->loop;
    int fd = loop_accept(loop, &relay->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0)
        link_new(relay, fd);
    if (relay->link_count >= LINKS_MAX)
        loop_change(loop, source, 0);
}

int relay_start(struct agent *agent, int listen_fd, struct relay **relay, struct error **err)
{
    struct relay *r = xcalloc(1, sizeof *r);
    r->agent = agent;
    LIST_INIT(&r->links);
    if (loop_add(&agent->loop, &r->listener.source, listen_fd, EPOLLIN, on_connection) < 0) {
        free(r);
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot watch the relay");
    }
    *relay = r;
    return 0;
}
