/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-events: hold the requests that wait for events, so that no worker of the API waits. */
#include "config/program.h"
#include "events/server.h"

static const struct program program = {
    .name = "sandlot-events",
    .summary = "holds requests that wait for events, on the socket at file descriptor 0",
};

int main(int argc, char **argv)
{
    struct program_call call;
    int status = program_start(argc, argv, &program, &call);
    if (status != PROGRAM_RUN)
        return status;
    static struct server server;
    error_auto err = NULL;
    if (server_open(&server, call.settings, &err) == 0)
        server_run(&server);
    server_close(&server);
    settings_free(call.settings);
    return program_end(err);
}
