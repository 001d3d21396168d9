/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

int inside_open(int folder, const char *path, uint64_t flags, uint64_t more)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | more};
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

/* Return whether a process is the first one of a namespace and a child of this monitor. */
static bool is_init_of(pid_t monitor, pid_t pid)
{
    char path[64];
    autofree char *line = NULL;
    size_t size = 0;
    int parent = 0;
    bool is_first = false;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    autofclose FILE *file = fopen(path, "re");
    while (file && getline(&line, &size, file) >= 0) {
        sscanf(line, "PPid: %d", &parent);
        if (str_starts_with(line, "NSpid:"))
            is_first = str_ends_with(line, "\t1\n");
    }
    return is_first && parent == monitor;
}

/* Find the first process. It is opened before the check, so a later process with the same number
 * cannot take its place. */
static int open_init(pid_t monitor)
{
    char path[64];
    int pid;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)monitor, (int)monitor);
    autofclose FILE *children = fopen(path, "re");
    while (children && fscanf(children, "%d", &pid) == 1) {
        int init = pidfd_open(pid, 0);
        if (init >= 0 && is_init_of(monitor, pid))
            return init;
        if (init >= 0)
            close(init);
    }
    return -1;
}

int inside_find(const struct groups *groups, const char *instance, int *init, struct error **err)
{
    pid_t monitor;
    if (groups_monitor(groups, instance, &monitor, err) < 0)
        return -1;
    *init = open_init(monitor);
    return *init >= 0 ? 0 : error_set(err, ERR_NOT_FOUND, "cannot find its first process");
}

/* Read the number of the process of a descriptor; 0: it has ended. */
static int number_of(int process)
{
    autofree char *path = xasprintf("/proc/self/fdinfo/%d", process);
    autofree char *line = NULL;
    size_t size = 0;
    int pid = 0;
    autofclose FILE *file = fopen(path, "re");
    while (file && getline(&line, &size, file) >= 0)
        if (sscanf(line, "Pid: %d", &pid) == 1)
            break;
    return pid > 0 ? pid : 0;
}

int inside_users(int init, struct error **err)
{
    int pid = number_of(init);
    autofree char *path = xasprintf("/proc/%d/ns/user", pid);
    autoclose int users = pid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    /* Only while it runs is the number its own. */
    if (users < 0 || pidfd_send_signal(init, 0, NULL, 0) < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "cannot read its user ids");
    return steal_fd(&users);
}

struct report {
    const char *failed; /* a literal, valid in parent and child; NULL: no failure */
    int number;         /* errno */
};

/* Become root of the instance. */
static const char *enter(int init)
{
    if (setns(init, CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return "cannot enter its namespaces";
    if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
        return "cannot become root in it";
    umask(0022);
    return NULL;
}

/* Read the report. Returns false when it does not come in time. */
static bool hear(int in, unsigned most_ms, struct report *report)
{
    struct pollfd wait = {.fd = in, .events = POLLIN};
    return poll(&wait, 1, (int)most_ms) == 1 && read(in, report, sizeof *report) == sizeof *report;
}

int inside_run(int init, unsigned most_ms, const char *(*work)(const void *context),
               const void *context, struct error **err)
{
    struct report report;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "cannot create a pipe");
    autoclose int in = ends[0], out = ends[1];
    pid_t pid = fork();
    if (pid == 0) {
        report.failed = enter(init);
        if (!report.failed)
            report.failed = work(context);
        report.number = errno;
        _exit(write(out, &report, sizeof report) == sizeof report ? 0 : 1);
    }
    cleanup_close_(&out);
    out = -1;
    bool heard = pid > 0 && hear(in, most_ms, &report);
    if (pid > 0 && !heard)
        kill(pid, SIGKILL);
    if (pid > 0)
        waitpid(pid, NULL, heard ? 0 : WNOHANG);
    if (!heard)
        return error_set(err, ERR_RUNTIME_REFUSED, "the work in the instance did not end in time");
    return report.failed
               ? error_set_errno(err, ERR_RUNTIME_REFUSED, report.number, "%s", report.failed)
               : 0;
}

void inside_wait(void)
{
    while (waitpid(-1, NULL, 0) > 0)
        ;
}
