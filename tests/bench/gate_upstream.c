/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server in the sandbox for gate_throughput: answers each connection's request for /N with N
 * bytes and closes, as quickly as one thread can. gate_upstream PORT
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER_MAX 256
#define BODY_MAX   65536
#define ROOM_BYTES (3 * BODY_MAX) /* of a socket: sending an answer never waits */

static char answer[HEADER_MAX + BODY_MAX];

static int listen_on(int port)
{
    int on = 1, room = ROOM_BYTES;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 4096) < 0)
        exit(1);
    return fd;
}

/* The end goes out in the last segment of the answer, so that this side closes first: else nginx
 * would keep the port of each connection for a minute, and has run out of them after a few
 * seconds. */
static void answer_and_end(int fd, const char *request)
{
    int on = 1;
    unsigned size = 0;
    if (sscanf(request, "GET /%u", &size) != 1 || size > BODY_MAX)
        size = 6;
    int header = snprintf(answer, HEADER_MAX,
                          "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %u\r\n"
                          "Connection: close\r\n\r\n",
                          size);
    memset(answer + header, 'x', size);
    setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
    send(fd, answer, (size_t)header + size, MSG_NOSIGNAL);
}

int main(int argc, char **argv)
{
    int listener = listen_on(argc > 1 ? atoi(argv[1]) : 3000);
    int poll_fd = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(poll_fd, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        struct epoll_event ready[64];
        int count = epoll_wait(poll_fd, ready, 64, -1);
        for (int i = 0; i < count; i++) {
            int fd = ready[i].data.fd;
            char request[8192];
            if (fd == listener) {
                while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                    event.data.fd = fd;
                    epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event);
                }
            } else {
                ssize_t got = read(fd, request, sizeof request - 1);
                if (got > 0) {
                    request[got] = '\0';
                    answer_and_end(fd, request);
                }
                close(fd);
            }
        }
    }
}
