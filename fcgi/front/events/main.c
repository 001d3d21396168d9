/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-events: hold the requests that wait for events, so that no worker of the API waits. */
#include "config/program.h"
#include "events/server.h"

static const struct program program = {
    .name = "sandlot-events",
    .summary = "holds requests that wait for events, on the socket at file descriptor 0",
};

static void run(const struct settings *settings, struct error **err)
{
    static struct server server;
    if (server_open(&server, settings, err) == 0)
        server_run(&server);
    server_close(&server);
}

int main(int argc, char **argv)
{
    return program_main(argc, argv, &program, run);
}
