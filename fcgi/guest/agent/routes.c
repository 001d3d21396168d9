/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/routes.h"

#include "agent/files/files_routes.h"
#include "agent/filesystem/fs_rpc.h"
#include "agent/framework/connect_rpc.h"
#include "agent/framework/request.h"
#include "agent/framework/worker.h"
#include "agent/handlers.h"
#include "agent/process/exec.h"
#include "agent/process/hook.h"
#include "agent/process/process_logs.h"
#include "agent/process/process_rpc.h"
#include "agent/services.h"
#include "agent/watch/watch_rpc.h"
#include "base/mem.h"

#define RPC(method_path, rpc_row)                                                          \
    {                                                                                      \
        .method = "POST", .path = (method_path), .begin = rpc_begin, .finish = rpc_finish, \
        .closed = rpc_closed, .rpc = &(rpc_row)                                            \
    }

/* The gate has read the signature. */
static const char *const upload_query[] = {"path", "username", "signature", "signature_expiration",
                                           NULL};
static const char *const download_query[] = {
    "path", "username", "signature", "signature_expiration", "download", NULL};

static const struct route rows[] = {
    {.method = "GET", .path = "/health", .flags = ROUTE_OPEN, .finish = health_finish},
    {.method = "GET", .path = "/files", .query = download_query, .finish = files_get_finish},
    {.method = "POST",
     .path = "/files",
     .query = upload_query,
     .begin = files_put_begin,
     .data = files_put_data,
     .finish = files_put_finish,
     .closed = files_put_closed},

    {.method = "POST",
     .path = "/files/compose",
     .finish = files_compose_finish,
     .closed = worker_closed},

    {.method = "POST",
     .path = "/exec",
     .begin = rpc_check_json,
     .finish = exec_finish,
     .closed = exec_closed},

    {.method = "GET", .path = "/metrics", .finish = metrics_finish},
    /* A program that comes from a checkpoint does not have the variables of the new create. */
    {.method = "GET", .path = "/envs", .flags = ROUTE_OWN, .finish = envs_finish},

    {.method = "POST", .path = "/hold", .flags = ROUTE_OWN, .finish = hold_finish},

    {.method = "POST",
     .path = "/init",
     .flags = ROUTE_OPEN | ROUTE_INTERNAL | ROUTE_SECRET,
     .begin = init_begin,
     .finish = init_finish,
     .closed = init_closed},
    {.method = "POST",
     .path = "/internal/hang-up",
     .flags = ROUTE_INTERNAL,
     .finish = hang_up_finish},
    {.method = "POST",
     .path = "/internal/hook",
     .flags = ROUTE_INTERNAL,
     .finish = hook_finish,
     .closed = hook_closed},
    {.method = "GET",
     .path = "/internal/activity",
     .flags = ROUTE_INTERNAL,
     .finish = activity_finish},
    {.method = "GET", .path = "/internal/logs", .flags = ROUTE_INTERNAL, .finish = logs_finish},
    {.method = "GET",
     .path = "/internal/ports/",
     .flags = ROUTE_INTERNAL | ROUTE_PREFIX,
     .finish = ports_finish},
    {.method = "GET",
     .path = "/internal/services",
     .flags = ROUTE_INTERNAL,
     .finish = services_list_finish},
    {.method = "POST",
     .path = "/internal/services",
     .flags = ROUTE_INTERNAL,
     .finish = services_release_finish},
    {.method = "GET",
     .path = "/internal/services/",
     .flags = ROUTE_INTERNAL | ROUTE_PREFIX,
     .finish = services_logs_finish},
    {.method = "POST",
     .path = "/internal/services/",
     .flags = ROUTE_INTERNAL | ROUTE_PREFIX,
     .finish = services_restart_finish},

    RPC("/filesystem.Filesystem/Stat", fs_rpc_stat),
    RPC("/filesystem.Filesystem/MakeDir", fs_rpc_make_dir),
    RPC("/filesystem.Filesystem/Move", fs_rpc_move),
    RPC("/filesystem.Filesystem/ListDir", fs_rpc_list_dir),
    RPC("/filesystem.Filesystem/Remove", fs_rpc_remove),

    RPC("/filesystem.Filesystem/WatchDir", watch_rpc_watch_dir),
    RPC("/filesystem.Filesystem/CreateWatcher", watch_rpc_create_watcher),
    RPC("/filesystem.Filesystem/GetWatcherEvents", watch_rpc_get_events),
    RPC("/filesystem.Filesystem/RemoveWatcher", watch_rpc_remove_watcher),

    RPC("/process.Process/Start", process_rpc_start),
    RPC("/process.Process/Connect", process_rpc_connect),
    RPC("/process.Process/List", process_rpc_list),
    RPC("/process.Process/SendInput", process_rpc_send_input),
    {.method = "POST",
     .path = "/process.Process/StreamInput",
     .flags = ROUTE_ENDLESS,
     .begin = stream_input_begin,
     .data = stream_input_data,
     .finish = stream_input_finish,
     .closed = stream_input_closed,
     .rpc = &process_rpc_stream_input},
    RPC("/process.Process/CloseStdin", process_rpc_close_stdin),
    RPC("/process.Process/SendSignal", process_rpc_send_signal),
    RPC("/process.Process/Update", process_rpc_update),
};

const struct route_table routes = {rows, ARRAY_SIZE(rows)};
