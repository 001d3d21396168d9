/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ssh/listener.h"
#include "ssh/wire.h"

/* The most that one client's session process may use; the command lines next to it need a part. */
#define MEMORY_MAX      (256UL * 1024 * 1024)
#define DESCRIPTORS_MAX 512

static void bound(int resource, rlim_t most)
{
    const struct rlimit limit = {most, most};
    setrlimit(resource, &limit);
}

/* In the child: give up all rights of this process for good. */
static int give_up_rights(const struct listener *listener)
{
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
        setresgid(listener->group, listener->group, listener->group) < 0 ||
        setresuid(listener->user, listener->user, listener->user) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    bound(RLIMIT_CORE, 0);
    bound(RLIMIT_NOFILE, DESCRIPTORS_MAX);
#ifndef __SANITIZE_ADDRESS__
    bound(RLIMIT_AS, MEMORY_MAX);
#endif
    return 0;
}

static void become_session(const struct listener *listener, int client_fd, int wire_fd)
{
    char *const arguments[] = {(char[]){"sandlot-ssh-session"}, NULL};
    char *const environment[] = {(char[]){"PATH=/usr/bin:/bin"}, (char[]){"LANG=C.UTF-8"}, NULL};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(client_fd, STDIN_FILENO) < 0 || dup2(wire_fd, WIRE_FD) < 0 ||
        fcntl(WIRE_FD, F_SETFD, 0) < 0 || close_range(WIRE_FD + 1, ~0U, 0) < 0 ||
        give_up_rights(listener) < 0)
        _exit(126);
    execve(SANDLOT_SSH_SESSION, arguments, environment);
    _exit(127);
}

int spawn_session(const struct listener *listener, int client_fd, int wire_fd, pid_t *pid,
                  struct error **err)
{
    *pid = fork();
    if (*pid < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot start a process");
    if (*pid == 0)
        become_session(listener, client_fd, wire_fd);
    return 0;
}
