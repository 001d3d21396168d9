/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starting a program in the sandbox: a session of its own, the user's ids, clean signals. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "agent/common/environment.h"
#include "agent/common/rpc_error.h"
#include "agent/common/users.h"

/* A single digit: more dash does not read in a redirection. */
#define PROCESS_LINE_FD 9

struct process_spec {
    char **argv; /* NULL-terminated; argv[0] is the command, looked up in the PATH of the set */
    /* The program finds this text in a file at descriptor PROCESS_LINE_FD; NULL: no text. */
    const char *line;
    const char *cwd;
    bool or_root; /* the program runs in "/" where the user cannot enter cwd */
    const struct environment *environment;
    const struct user *user;
    bool with_stdin; /* a pipe; otherwise /dev/null */
    bool with_pty;   /* one terminal instead of the three streams */
    unsigned short cols, rows;
};

/* The agent's ends, non-blocking, close-on-exec; -1: closed. */
struct process_ends {
    int input;  /* also the terminal, which output then is a duplicate of */
    int output; /* standard output, or the terminal */
    int error;
};

/* Save the limits for children, and the difference of their out-of-memory score to the agent's.
 * Call it once at start. */
void process_spawn_init(void);

/* Start a program, and return when it runs. Errors:
 *   RPC_INVALID_ARGUMENT    the directory or command does not exist, the user has no right to it,
 *                           or an argument is too long for the kernel
 *   RPC_RESOURCE_EXHAUSTED  no descriptor, process or memory is left
 *   RPC_UNAVAILABLE         another program writes the file of the command now
 *   RPC_INTERNAL            cannot become the user */
int process_spawn(const struct process_spec *spec, pid_t *pid, struct process_ends *ends,
                  struct rpc_error *error);
