/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The methods of process.Process. */
#pragma once

#include "agent/connect_rpc.h"

extern const struct rpc process_rpc_start, process_rpc_connect, process_rpc_list,
    process_rpc_send_signal, process_rpc_send_input, process_rpc_close_stdin, process_rpc_update;
