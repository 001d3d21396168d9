/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-acme: tells certificate authorities by DNS that the deployment's names are ours. */
#include <stdlib.h>
#include <sysexits.h>

#include "acme/server.h"
#include "base/log.h"
#include "base/ready.h"
#include "config/program.h"

static const struct program program = {
    .name = "sandlot-acme",
    .summary = "answers the DNS-01 challenges of certificate authorities, while there are any",
};

int main(int argc, char **argv)
{
    struct program_call call;
    int status = program_start(argc, argv, &program, &call);
    if (status != PROGRAM_RUN)
        return status;
    static struct server server;
    error_auto err = NULL;
    if (server_open(&server, call.settings, &err) == 0) {
        ready_tell();
        server_run(&server);
    } else {
        log_error("cannot serve", LOG_ERROR(err));
    }
    server_close(&server);
    settings_free(call.settings);
    return EX_UNAVAILABLE;
}
