/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start the program of a request. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/process/process.h"

/* Values that are read from a message belong to the message. */
struct process_call {
    const char *command;
    const char *cwd;    /* "": the usual one, or "/" where the user cannot enter it */
    const char *tag;    /* "" or NULL: none */
    const json_t *args; /* strings; NULL: none */
    const json_t *envs; /* object of strings; NULL: none */
    bool with_stdin, with_pty;
    int64_t cols, rows;
};

/* Check whether command and args can be those of a program. RPC_INVALID_ARGUMENT names the
 * field. */
int process_call_check(const struct process_call *call, struct rpc_error *error);

/* Start it as this user. Its environment has, in this order, the variables of every process, of the
 * user, of the sandbox and of the request. Errors as process_spawn(), and RPC_INVALID_ARGUMENT for
 * a cwd or an environment that cannot be. They name the member: "/cwd". */
int process_launch(struct agent *agent, const struct user *user, const struct process_call *call,
                   struct process **process, struct rpc_error *error);
