/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The methods of filesystem.Filesystem. */
#pragma once

#include "agent/framework/connect_rpc.h"

extern const struct rpc fs_rpc_stat, fs_rpc_make_dir, fs_rpc_move, fs_rpc_list_dir, fs_rpc_remove;
