/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what a request says of a program to the running process. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/process/process.h"

/* What is read from a message belongs to the message. */
struct process_call {
    const char *command;
    const char *cwd;    /* "": the user's home */
    const char *tag;    /* "" or NULL: none */
    const json_t *args; /* strings; NULL: none */
    const json_t *envs; /* object of strings; NULL: none */
    bool with_stdin, with_pty;
    int64_t cols, rows;
};

/* Whether command and args can be those of a program. RPC_INVALID_ARGUMENT names the field. */
int process_call_check(const struct process_call *call, struct rpc_error *error);

/* Start it as this user, in an environment of, from the outside in, what every process has, the
 * user's own, the sandbox's, the request's. Errors as process_spawn(), and RPC_INVALID_ARGUMENT
 * for a cwd or an environment that cannot be. */
int process_launch(struct agent *agent, const struct user *user, const struct process_call *call,
                   struct process **process, struct rpc_error *error);
