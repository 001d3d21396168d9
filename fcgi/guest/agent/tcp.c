/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE_MAX (64 * 1024)

static int connect_to(const void *address, socklen_t size)
{
    const int on = 1;
    int fd = socket(((const struct sockaddr *)address)->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, address, size) < 0) {
        int errnum = errno;
        close(fd);
        errno = errnum;
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

int tcp_connect(uint16_t port)
{
    const struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = connect_to(&v4, sizeof v4);
    return fd >= 0 ? fd : connect_to(&v6, sizeof v6);
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        data += written;
        size -= (size_t)written;
    }
    return true;
}

/* Returns how many bytes that were. */
static unsigned long long pass_all(int from, int to)
{
    static char piece[PIECE_MAX];
    unsigned long long passed = 0;
    for (;;) {
        ssize_t size = read(from, piece, sizeof piece);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0 || !write_all(to, piece, (size_t)size))
            return passed;
        passed += (unsigned long long)size;
    }
}

/* A process for each way: one that waits for a slow reader must not hold up the other. */
static pid_t pass_in(int fd)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pass_all(STDIN_FILENO, fd);
    shutdown(fd, SHUT_WR);
    _exit(0);
}

/* The server may speak on when nothing more comes to it; its own end is the end. */
static void join_server(int fd)
{
    pid_t pid = pass_in(fd);
    pass_all(fd, STDOUT_FILENO);
    if (pid > 0)
        kill(pid, SIGKILL);
}

void tcp_join_client(int fd)
{
    if (!write_all(STDOUT_FILENO, "", 1))
        return;
    pid_t pid = pass_in(fd);
    unsigned long long passed = pass_all(fd, STDOUT_FILENO);
    fprintf(stderr, "%llu\n", passed);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

int tcp_run(uint16_t port)
{
    signal(SIGPIPE, SIG_IGN);
    int fd = tcp_connect(port);
    if (fd < 0) {
        fprintf(stderr, "sandlot-agent: port %u: %s\n", port, strerror(errno));
        return 1;
    }
    if (write_all(STDOUT_FILENO, "", 1))
        join_server(fd);
    close(fd);
    return 0;
}
