/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-ssh: the SSH entry point. It holds the keys; its child processes talk to the clients. */
#include "config/program.h"
#include "ssh/listener.h"

static const struct program program = {
    .name = "sandlot-ssh",
    .summary = "the SSH entry point: shells, commands, files and ports of sandboxes",
};

int main(int argc, char **argv)
{
    struct program_call call;
    int status = program_start(argc, argv, &program, &call);
    if (status != PROGRAM_RUN)
        return status;
    static struct listener listener;
    error_auto err = NULL;
    if (listener_open(&listener, call.settings, &err) == 0)
        listener_run(&listener);
    listener_close(&listener);
    settings_free(call.settings);
    return program_end(err);
}
