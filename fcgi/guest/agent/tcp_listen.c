/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/tcp_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/tcp.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define WAITING_MAX                                                              \
    8 /* connections that are announced and not taken; others wait in the kernel \
       */
#define BACKLOG      64
#define REST_MS      200 /* without descriptors */
#define TAKE_WAIT_MS 30000
#define BEAT_WAIT_MS 180000
#define NAME_BYTES   16
#define NAME_SIZE    (2 * NAME_BYTES + 1)
#define NAME_PREFIX  "sandlot-listen-"

struct waiting {
    int fd;
    int64_t until_ms;
};

static struct waiting waiting[WAITING_MAX]; /* the oldest first */
static unsigned waiting_count;
static int listeners[2] = {-1, -1}; /* IPv4, IPv6 */
static int takers = -1;

static int complain(const char *what)
{
    fprintf(stderr, "sandlot-agent: %s: %s\n", what, strerror(errno));
    return 1;
}

/* --- shared by both: a socket with a name in this network alone --- */

static socklen_t set_name(struct sockaddr_un *address, const char *name)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int size =
        snprintf(address->sun_path + 1, sizeof address->sun_path - 1, NAME_PREFIX "%s", name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size);
}

static bool is_own(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

/* --- the one that listens --- */

static int listen_on(const struct sockaddr *address, socklen_t size)
{
    const int on = 1;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, address, size) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int errnum = errno;
    close(fd);
    errno = errnum;
    return -1;
}

/* IPv6 has the same port if it can: not every sandbox has a ::1. */
static int listen_on_port(uint16_t *port)
{
    struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof v4;
    listeners[0] = listen_on((const struct sockaddr *)&v4, sizeof v4);
    if (listeners[0] < 0 || getsockname(listeners[0], (struct sockaddr *)&v4, &size) < 0)
        return -1;
    *port = ntohs(v4.sin_port);
    const struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(*port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    listeners[1] = listen_on((const struct sockaddr *)&v6, sizeof v6);
    return 0;
}

static int listen_for_takers(char name[NAME_SIZE])
{
    unsigned char random[NAME_BYTES];
    struct sockaddr_un address;
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(name, NAME_SIZE, random, sizeof random);
    socklen_t size = set_name(&address, name);
    takers = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return takers < 0 || bind(takers, (const struct sockaddr *)&address, size) < 0 ||
                   listen(takers, WAITING_MAX) < 0
               ? -1
               : 0;
}

static void say_peer(const struct sockaddr_storage *peer)
{
    char text[INET6_ADDRSTRLEN] = "127.0.0.1";
    bool is_v6 = peer->ss_family == AF_INET6;
    const struct sockaddr_in *v4 = (const void *)peer;
    const struct sockaddr_in6 *v6 = (const void *)peer;
    inet_ntop(peer->ss_family, is_v6 ? (const void *)&v6->sin6_addr : &v4->sin_addr, text,
              sizeof text);
    printf("%s %u\n", text, ntohs(is_v6 ? v6->sin6_port : v4->sin_port));
    fflush(stdout);
}

static void accept_one(int listener)
{
    struct sockaddr_storage peer = {.ss_family = AF_INET};
    socklen_t size = sizeof peer;
    int fd = accept4(listener, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            clock_sleep_ms(REST_MS);
        return;
    }
    waiting[waiting_count++] = (struct waiting){fd, clock_monotonic_ms() + TAKE_WAIT_MS};
    say_peer(&peer);
}

static void drop_oldest(void)
{
    close(waiting[0].fd);
    memmove(waiting, waiting + 1, sizeof *waiting * --waiting_count);
}

static void give_oldest(void)
{
    char byte = 0;
    struct iovec piece = {&byte, 1};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.room};
    autoclose int taker = accept4(takers, NULL, NULL, SOCK_CLOEXEC);
    if (taker < 0 || !is_own(taker) || !waiting_count)
        return;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &waiting[0].fd, sizeof(int));
    sendmsg(taker, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    drop_oldest();
}

/* Returns false at the end of standard input. */
static bool take_beat(int64_t *beat_until_ms)
{
    char piece[64];
    ssize_t size = read(STDIN_FILENO, piece, sizeof piece);
    *beat_until_ms = clock_monotonic_ms() + BEAT_WAIT_MS;
    return size > 0 || (size < 0 && (errno == EINTR || errno == EAGAIN));
}

static int serve(void)
{
    int64_t beat_until_ms = clock_monotonic_ms() + BEAT_WAIT_MS;
    for (;;) {
        bool has_room = waiting_count < WAITING_MAX;
        struct pollfd wait[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                {.fd = takers, .events = POLLIN},
                                {.fd = has_room ? listeners[0] : -1, .events = POLLIN},
                                {.fd = has_room ? listeners[1] : -1, .events = POLLIN}};
        int64_t now_ms = clock_monotonic_ms();
        int64_t until_ms = waiting_count && waiting[0].until_ms < beat_until_ms
                               ? waiting[0].until_ms
                               : beat_until_ms;
        if (now_ms > beat_until_ms)
            return 1;
        if (waiting_count && now_ms > waiting[0].until_ms)
            drop_oldest();
        else if (poll(wait, 4, until_ms > now_ms ? (int)(until_ms - now_ms) + 1 : 0) <= 0)
            continue;
        if (wait[0].revents && !take_beat(&beat_until_ms))
            return 0;
        if (wait[1].revents)
            give_oldest();
        for (int i = 0; i < 2; i++)
            if (wait[2 + i].revents && waiting_count < WAITING_MAX)
                accept_one(listeners[i]);
    }
}

int tcp_listen_run(uint16_t port)
{
    char name[NAME_SIZE];
    signal(SIGPIPE, SIG_IGN);
    if (sodium_init() < 0 || listen_on_port(&port) < 0)
        return complain("cannot listen on the port");
    if (listen_for_takers(name) < 0)
        return complain("cannot listen for the client");
    printf("%u %s\n", port, name);
    fflush(stdout);
    return serve();
}

/* --- the one that has a connection --- */

static int receive_connection(int from)
{
    char byte;
    struct iovec piece = {&byte, 1};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.room};
    int fd = -1;
    if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) <= 0)
        return -1;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
    return fd;
}

int tcp_accepted_run(const char *name)
{
    struct sockaddr_un address;
    signal(SIGPIPE, SIG_IGN);
    if (strlen(name) != NAME_SIZE - 1)
        return complain("the name is not that of a listener");
    socklen_t size = set_name(&address, name);
    int from = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (from < 0 || connect(from, (const struct sockaddr *)&address, size) < 0 || !is_own(from))
        return complain("the listener has ended");
    int fd = receive_connection(from);
    close(from);
    if (fd < 0)
        return complain("the listener has no connection");
    tcp_join_client(fd);
    close(fd);
    return 0;
}
