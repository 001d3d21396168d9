/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server in the sandbox for gate_throughput: answers each connection's request with one small
 * page and closes, as quickly as one thread can. gate_upstream PORT
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n"
                             "Connection: close\r\n\r\nhello\n";

static int listen_on(int port)
{
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 4096) < 0)
        exit(1);
    return fd;
}

/* The end goes out in the segment of the answer, so that this side closes first: else nginx would
 * keep the port of each connection for a minute, and has run out of them after a few seconds. */
static void answer_and_end(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
    send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL);
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
                if (read(fd, request, sizeof request) > 0)
                    answer_and_end(fd);
                close(fd);
            }
        }
    }
}
