/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run a program in a sandbox with the standard streams of this process (process.Process of the data
 * plane). Input is sent as it arrives. A slow reader of the output slows the program down.
 *
 * A program with a terminal has a tag, and keeps running when the connection breaks; `sandlot
 * attach` finds and follows it again.
 */
#pragma once

#include "cli/api.h"

#define REMOTE_TERMINAL_TAG "sandlot-terminal-"

/* The command that starts a shell, for `/bin/sh -c`. */
#define REMOTE_LOGIN_SHELL "exec \"$(command -v bash || echo /bin/sh)\" -l"

struct remote_program {
    json_t *process;  /* {"cmd","args","envs","cwd"}, borrowed */
    int attach_pid;   /* not 0: one that runs already; process is NULL */
    const char *user; /* NULL: the default one */
    bool terminal;    /* a pseudo terminal of this one's size, which is put into raw mode */
    bool with_input;  /* standard input; with a terminal always */
    size_t left_out;  /* bytes at the beginning of its output that are not passed on */
};

/* Run a program to its end. *exit_code: as a shell has it; for a signal, 128 plus its number.
 * SIGINT and SIGTERM end the program; with a terminal, it gets the keys instead. Errors: as
 * api_call(), such as ERR_INVALID_REQUEST (the program cannot be started). */
int remote_run(struct cli *cli, const struct session *session, const struct remote_program *program,
               int *exit_code, struct error **err);
