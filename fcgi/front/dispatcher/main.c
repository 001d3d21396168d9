/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-dispatcher: deadlines, abandoned operations, sweeps. Any number may run. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/log.h"
#include "config/program.h"
#include "dispatcher/dispatcher.h"

static const struct program program = {
    .name = DISPATCHER_NAME,
    .summary = "background worker of sandlot: deadlines, recovery, clean-up",
};

static volatile sig_atomic_t stop;

static void on_stop(int signal)
{
    (void)signal;
    stop = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGQUIT, &action, NULL); /* multiwatch 1.0 sends it, not SIGTERM */
    sigaction(SIGCHLD, &action, NULL); /* a child process has ended */
    signal(SIGPIPE, SIG_IGN);
}

static int serve(const struct settings *settings, enum dispatcher_process process)
{
    struct worker worker = {0};
    error_auto err = NULL;
    if (dispatcher_open(settings, &worker, &err) == 0 &&
        (process != PROCESS_WORK || db_check_statements(worker.db, &err) == 0))
        dispatcher_serve(&worker, process, &stop);
    worker_close(&worker);
    return program_end(err);
}

/* Start a child process with its own database connection; it ends with this process. When it ends
 * by itself, this process ends too, and the supervisor restarts the dispatcher. */
static pid_t start_beside(const struct settings *settings, enum dispatcher_process process)
{
    pid_t parent = getpid(), child = fork();
    if (child)
        return child;
    signal(SIGCHLD, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_SUCCESS);
    _exit(serve(settings, process));
}

/* Start all child processes. Returns whether all have started; *started counts them. */
static bool start_all_beside(const struct settings *settings, pid_t *beside, unsigned *started)
{
    for (enum dispatcher_process process = PROCESS_WORK + 1; process < PROCESS_COUNT; process++)
        for (unsigned i = 0; i < dispatcher_processes[process].count; i++) {
            pid_t child = start_beside(settings, process);
            if (child < 0)
                return false;
            beside[(*started)++] = child;
        }
    return true;
}

int main(int argc, char **argv)
{
    struct program_call call;
    int status = program_start(argc, argv, &program, &call);
    if (status != PROGRAM_RUN)
        return status;
    catch_signals();
    pid_t beside[DISPATCHER_PROCESSES_MAX];
    unsigned started = 0;
    if (dispatcher_prepare() == 0 && start_all_beside(call.settings, beside, &started)) {
        log_info("dispatcher started");
        status = serve(call.settings, PROCESS_WORK);
    } else {
        log_error("cannot start the dispatcher", LOG_STR("reason", strerror(errno)));
        status = EX_OSERR;
    }
    while (started--) {
        kill(beside[started], SIGTERM);
        waitpid(beside[started], NULL, 0);
    }
    settings_free(call.settings);
    return status;
}
