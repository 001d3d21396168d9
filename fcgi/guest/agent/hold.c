/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/hold.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/tcp.h"
#include "base/cleanup.h"
#include "base/instance.h"

#define HOLD_S       60
#define RENEW_S      20
#define ANSWER_S     10
#define EXIT_NO_HOLD 125
#define EXIT_NO_EXEC 127
#define BODY         "{\"seconds\": 60}"
#define DONE         "HTTP/1.1 204 "

_Static_assert(HOLD_S == 60 && sizeof BODY == 16, "BODY is of HOLD_S, and QUESTION of its size");

#define QUESTION                                                                   \
    "POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15\r\nConnection: " \
    "close\r\n\r\n" BODY

static bool hold(void)
{
    const struct timeval most = {.tv_sec = ANSWER_S};
    char answer[sizeof DONE] = "";
    autoclose int fd = tcp_connect(AGENT_PORT);
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    return send(fd, QUESTION, strlen(QUESTION), MSG_NOSIGNAL) == (ssize_t)strlen(QUESTION) &&
           recv(fd, answer, strlen(DONE), MSG_WAITALL) == (ssize_t)strlen(DONE) &&
           strcmp(answer, DONE) == 0;
}

/* Renew the hold until the command has ended. The streams of the command end with the command. */
static void renew(int command)
{
    struct pollfd end = {.fd = command, .events = POLLIN};
    setsid();
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        close(fd);
    for (unsigned i = 0; i < AGENT_HOLD_MAX_S / RENEW_S; i++) {
        if (poll(&end, 1, RENEW_S * 1000) != 0)
            return;
        hold();
    }
}

/* The command must not get a child that it did not start, so the process has another parent. */
static int leave_renewer(void)
{
    autoclose int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    pid_t pid = self < 0 ? -1 : fork();
    if (pid == 0) {
        if (fork() == 0)
            renew(self);
        _exit(0);
    }
    if (pid < 0)
        return -1;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

int hold_run(char *const command[])
{
    if (!hold() || leave_renewer() < 0) {
        fputs("sandlot-agent: cannot keep the sandbox awake\n", stderr);
        return EXIT_NO_HOLD;
    }
    execvp(command[0], command);
    fprintf(stderr, "sandlot-agent: %s: %s\n", command[0], strerror(errno));
    return EXIT_NO_EXEC;
}
