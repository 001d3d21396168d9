/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/bounded_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* Killed processes end at once unless the kernel holds them. After this time, stop waiting for
 * them. */
#define REAP_MOST_MS 5000

/* --- killing --- */

/* Kill the children of this process, and return how many it had. This process is a subreaper, so
 * orphaned descendants become its children. Repeated calls therefore end all descendants. */
static unsigned kill_children(void)
{
    autofclose FILE *list = fopen("/proc/thread-self/children", "re");
    unsigned count = 0;
    int pid;
    while (list && fscanf(list, "%d", &pid) == 1) {
        kill(pid, SIGKILL);
        count++;
    }
    return count;
}

static void end_descendants(void)
{
    int64_t give_up_ms = clock_monotonic_ms() + REAP_MOST_MS;
    while (kill_children() && clock_monotonic_ms() < give_up_ms) {
        clock_sleep_ms(10);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

/* --- waiting --- */

/* Wait for the end of one child and ignore the ends of others. Returns 1 when the time is over. */
static int await(pid_t pid, int64_t give_up_ms, const sigset_t *child_signal, int *status,
                 struct error **err)
{
    for (;;) {
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended == pid)
            return 0;
        if (ended < 0)
            return error_set_errno(err, ERR_INTERNAL, errno, "cannot wait for the command");
        int64_t left_ms = give_up_ms - clock_monotonic_ms();
        if (left_ms <= 0)
            return 1;
        struct timespec left = {.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1000000};
        sigtimedwait(child_signal, NULL, &left);
    }
}

static pid_t start(int (*before)(void), char *const command[], const sigset_t *mask)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (!before || before() == 0)
        execvp(command[0], command);
    fprintf(stderr, "%s: cannot run %s: %s\n", program_invocation_short_name, command[0],
            strerror(errno));
    _exit(127);
}

int bounded_run(char *const command[], unsigned limit_s, int *status, struct error **err)
{
    return bounded_run_after(NULL, command, limit_s, status, err);
}

int bounded_run_after(int (*before)(void), char *const command[], unsigned limit_s, int *status,
                      struct error **err)
{
    int64_t give_up_ms = clock_monotonic_ms() + (int64_t)limit_s * 1000;
    sigset_t child_signal, mask;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_signal, &mask);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno,
                               "cannot become the subreaper of the command's processes");
    pid_t pid = start(before, command, &mask);
    if (pid < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot start a process");
    int result = await(pid, give_up_ms, &child_signal, status, err);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (result <= 0)
        return result;
    end_descendants();
    return error_set(err, ERR_RUNTIME_STUCK, "no end after %u s, killed", limit_s);
}
