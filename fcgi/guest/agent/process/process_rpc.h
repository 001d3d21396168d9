/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The methods of process.Process. */
#pragma once

#include "agent/framework/connect_rpc.h"
#include "agent/process/process.h"

/* Handle process.Process/StreamInput. */
int stream_input_begin(struct request *request, struct rpc_error *error);
int stream_input_data(struct request *request, const char *data, size_t size,
                      struct rpc_error *error);
int stream_input_finish(struct request *request, struct rpc_error *error);
void stream_input_closed(struct request *request);

/* Find the process that a message's "process" member selects: {"pid":n} or {"tag":"…"}. With ended,
 * also one that ended lately. */
int process_rpc_select(struct request *request, const json_t *message, bool ended,
                       struct process **process, struct rpc_error *error);

/* Give a process bytes, which are taken over; as process_write(). to_pty: they are for its
 * terminal. */
int process_rpc_write_bytes(struct process *process, struct request *request, bool to_pty,
                            char *data, size_t size, process_written *written,
                            struct rpc_error *error);

/* Do the same with the bytes of an "input" member. */
int process_rpc_write(struct process *process, struct request *request, const json_t *input,
                      process_written *written, struct rpc_error *error);

extern const struct rpc process_rpc_start, process_rpc_connect, process_rpc_list,
    process_rpc_send_signal, process_rpc_send_input, process_rpc_close_stdin, process_rpc_update,
    process_rpc_stream_input;
