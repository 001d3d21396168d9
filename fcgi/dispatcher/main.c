/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-dispatcher: deadlines, operations left behind, the sweep. Any number may run. */
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
    .name = "sandlot-dispatcher",
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
    sigaction(SIGCHLD, &action, NULL); /* the watch of the deadlines ended */
    signal(SIGPIPE, SIG_IGN);
}

typedef void role(struct sandbox_service *service, const volatile sig_atomic_t *stop);

static int serve(const struct settings *settings, role *run)
{
    struct sandbox_service service = {0};
    error_auto err = NULL;
    if (sandbox_service_open(settings, program.name, &service, &err) == 0)
        run(&service, &stop);
    else
        log_error("cannot start", LOG_ERROR(err));
    sandbox_service_close(&service);
    return err ? EX_UNAVAILABLE : EXIT_SUCCESS;
}

/* The process that watches the deadlines, with a database connection of its own; it ends with this
 * one. When it ends by itself this one ends too, and the supervisor starts both again. */
static pid_t start_watch(const struct settings *settings)
{
    pid_t parent = getpid(), child = fork();
    if (child)
        return child;
    signal(SIGCHLD, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_SUCCESS);
    _exit(serve(settings, dispatcher_watch));
}

int main(int argc, char **argv)
{
    struct program_call call;
    int status = program_start(argc, argv, &program, &call);
    if (status != PROGRAM_RUN)
        return status;
    catch_signals();
    pid_t watch = start_watch(call.settings);
    if (watch > 0) {
        log_info("dispatcher started");
        status = serve(call.settings, dispatcher_run);
        kill(watch, SIGTERM);
        waitpid(watch, NULL, 0);
    } else {
        log_error("cannot start", LOG_STR("reason", strerror(errno)));
        status = EX_OSERR;
    }
    settings_free(call.settings);
    return status;
}
