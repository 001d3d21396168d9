/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-dispatcher: deadlines, operations left behind, the sweep. Any number may run. */
#include <signal.h>
#include <stdlib.h>
#include <sysexits.h>

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
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
    struct program_call call;
    int status = program_start(argc, argv, &program, &call);
    if (status != PROGRAM_RUN)
        return status;
    struct sandbox_service service = {0};
    error_auto err = NULL;
    catch_signals();
    if (sandbox_service_open(call.settings, program.name, &service, &err) == 0) {
        log_info("dispatcher started");
        dispatcher_run(&service, &stop);
    } else {
        log_error("cannot start", LOG_ERROR(err));
    }
    sandbox_service_close(&service);
    settings_free(call.settings);
    return err ? EX_UNAVAILABLE : EXIT_SUCCESS;
}
