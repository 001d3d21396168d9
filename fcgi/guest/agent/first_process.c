/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/first_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/service_record.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#define PATH_OF_ROOT  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define LIFE_LEAST_MS 1000 /* an agent that ends sooner is started after a second */
#define STOP_MS       1500 /* for processes to end, before they are killed */

static bool of_machine;

bool first_process_is(void)
{
    return getpid() == 1;
}

/* --- preparing --- */

static void open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_WRONLY : O_RDONLY) != fd)
            break;
}

static void write_file(const char *path, const char *before, const char *name, const char *behind)
{
    autofclose FILE *file = fopen(path, "we");
    if (!file || fprintf(file, "%s%s\n%s", before, name, behind) < 0)
        log_warning("cannot write a file at the start of the sandbox; continuing without it",
                    LOG_STR("file", path));
}

/* Write the files that hold the host name: each copy of a template has another one. */
static void write_names(void)
{
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    write_file("/etc/hosts", "127.0.0.1 localhost ", name,
               "::1 localhost ip6-localhost ip6-loopback\n");
    write_file("/etc/hostname", "", name, "");
}

static void set_environment(void)
{
    clearenv();
    setenv("LANG", "C.UTF-8", 1);
    setenv("HOME", "/root", 1);
    setenv("PATH", PATH_OF_ROOT, 1);
}

/* --- being init --- */

/* Fill in SIGCHLD, and the signals by which the host and `poweroff` stop a sandbox. */
static void fill_signals(sigset_t *signals)
{
    const int numbers[] = {SIGCHLD, SIGTERM, SIGINT, SIGPWR, SIGUSR1, SIGUSR2, SIGRTMIN + 3};
    sigemptyset(signals);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaddset(signals, numbers[i]);
}

static int wait_ms(const sigset_t *signals, int64_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return ms < 0 ? sigwaitinfo(signals, NULL) : sigtimedwait(signals, NULL, &time);
}

/* Reap all children that have ended, and return whether the agent has ended. */
static bool reap(pid_t agent)
{
    bool found = false;
    for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;)
        found |= pid == agent;
    return found;
}

/* End all processes, and then the sandbox: the exit of the first process does that. */
__attribute__((noreturn)) static void stop(const sigset_t *signals)
{
    service_records_stop();
    int64_t until_ms = clock_monotonic_ms() + STOP_MS;
    kill(-1, SIGTERM);
    for (int64_t left_ms; (left_ms = until_ms - clock_monotonic_ms()) > 0;) {
        reap(0);
        if (kill(-1, 0) < 0)
            break;
        wait_ms(signals, left_ms);
    }
    kill(-1, SIGKILL);
    sync();
    if (of_machine)
        reboot(RB_POWER_OFF);
    _exit(0);
}

static void watch_over(pid_t agent, const sigset_t *signals)
{
    for (;;) {
        int number = wait_ms(signals, -1);
        if (number > 0 && number != SIGCHLD)
            stop(signals);
        if (reap(agent))
            return;
    }
}

/* Signals that stop the sandbox count during the pause too. */
static void pause_after(int64_t began_ms, const sigset_t *signals)
{
    int64_t until_ms = clock_monotonic_ms() + LIFE_LEAST_MS;
    if (clock_monotonic_ms() - began_ms >= LIFE_LEAST_MS)
        return;
    for (int64_t left_ms; (left_ms = until_ms - clock_monotonic_ms()) > 0;) {
        int number = wait_ms(signals, left_ms);
        if (number > 0 && number != SIGCHLD)
            stop(signals);
        reap(0);
    }
}

void first_process_begin(bool machine)
{
    sigset_t signals, before;
    of_machine = machine;
    open_standard_streams();
    set_environment();
    umask(022);
    if (chdir("/") == 0)
        write_names();
    fill_signals(&signals);
    sigprocmask(SIG_BLOCK, &signals, &before);
    prctl(PR_SET_NAME, "sandlot-init");
    for (;;) {
        int64_t began_ms = clock_monotonic_ms();
        pid_t agent = fork();
        if (agent == 0)
            break;
        if (agent > 0)
            watch_over(agent, &signals);
        pause_after(began_ms, &signals);
    }
    prctl(PR_SET_NAME, "sandlot-agent");
    setsid();
    sigprocmask(SIG_SETMASK, &before, NULL);
}
