/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The methods of filesystem.Filesystem that report changes: as a stream, or polled. */
#pragma once

#include "agent/framework/connect_rpc.h"

extern const struct rpc watch_rpc_watch_dir, watch_rpc_create_watcher, watch_rpc_get_events,
    watch_rpc_remove_watcher;
