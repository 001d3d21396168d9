/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The body of POST /exec, checked. */
#pragma once

#include "agent/process/process_launch.h"

#define EXEC_TIMEOUT_DEFAULT_MS 60000
#define EXEC_TIMEOUT_MAX_MS     (24LL * 3600 * 1000)

struct exec_call {
    struct process_call process; /* points into the message and args */
    json_t *args;                /* of a shell line; otherwise NULL */
    const char *user;            /* "": as with other calls */
    char *input;                 /* for standard input; NULL: it has none */
    size_t input_size;
    int64_t timeout_ms;
};

/* Read a message, which has to live as long as the call. Without args, cmd is a line for /bin/sh
 * -c; with them, empty ones too, it is a program. RPC_INVALID_ARGUMENT names the field that is
 * wrong or not known. The call is to be freed in either case. */
int exec_call_read(const json_t *message, struct exec_call *call, struct rpc_error *error);
void exec_call_deinit(struct exec_call *call);

#define exec_call_auto __attribute__((cleanup(exec_call_deinit))) struct exec_call
