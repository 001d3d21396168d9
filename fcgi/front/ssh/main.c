/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-ssh: the SSH entry point. It holds the keys; its child processes talk to the clients. */
#include "config/program.h"
#include "ssh/listener.h"

static const struct program program = {
    .name = "sandlot-ssh",
    .summary = "the SSH entry point: shells, commands, files and ports of sandboxes",
};

static void run(const struct settings *settings, struct error **err)
{
    static struct listener listener;
    if (listener_open(&listener, settings, err) == 0)
        listener_run(&listener);
    listener_close(&listener);
}

int main(int argc, char **argv)
{
    return program_main(argc, argv, &program, run);
}
