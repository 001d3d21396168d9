/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.Process/Start: the one method with a large request. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/common/paths.h"
#include "agent/common/proto.h"
#include "agent/framework/stream.h"
#include "agent/process/process_rpc.h"
#include "base/mem.h"
#include "base/str.h"

#define ARGS_MAX         4096
#define PTY_SIDE_MAX     4096
#define PTY_COLS_DEFAULT 80
#define PTY_ROWS_DEFAULT 24

#define PATH_DEFAULT     "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* A checked request. */
struct start {
    const char *command, *cwd, *tag;
    const json_t *args, *envs;
    bool with_stdin, with_pty;
    int64_t cols, rows;
};

static int read_pty(const json_t *message, struct start *start, struct fault *fault)
{
    const json_t *pty, *size = NULL;
    if (proto_object(message, "pty", &pty, fault) < 0)
        return -1;
    start->with_pty = pty;
    if (!pty)
        return 0;
    if (proto_object(pty, "size", &size, fault) < 0 ||
        proto_integer(size, "cols", 0, PTY_SIDE_MAX, &start->cols, fault) < 0 ||
        proto_integer(size, "rows", 0, PTY_SIDE_MAX, &start->rows, fault) < 0)
        return -1;
    if (!start->cols)
        start->cols = PTY_COLS_DEFAULT;
    if (!start->rows)
        start->rows = PTY_ROWS_DEFAULT;
    return 0;
}

static int read_request(const json_t *message, struct start *start, struct fault *fault)
{
    const json_t *process;
    if (proto_object(message, "process", &process, fault) < 0)
        return -1;
    if (!process)
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "process is missing");
    if (proto_string(process, "cmd", &start->command, fault) < 0 ||
        proto_array(process, "args", &start->args, fault) < 0 ||
        proto_object(process, "envs", &start->envs, fault) < 0 ||
        proto_string(process, "cwd", &start->cwd, fault) < 0 ||
        proto_string(message, "tag", &start->tag, fault) < 0 ||
        proto_bool(message, "stdin", true, &start->with_stdin, fault) < 0)
        return -1;
    if (!*start->command || strlen(start->command) > PATH_LENGTH_MAX)
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "cmd is missing or too long");
    if (json_array_size(start->args) > ARGS_MAX)
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "more than %d args", ARGS_MAX);
    for (size_t i = 0; i < json_array_size(start->args); i++)
        if (!json_is_string(json_array_get(start->args, i)))
            return fault_set(fault, FAULT_INVALID_ARGUMENT, "args must be strings");
    return read_pty(message, start, fault);
}

/* From the outside in: what every process has, the user's own, the sandbox's, the request's. */
static int make_environment(const struct agent *agent, const struct user *user,
                            const struct start *start, struct environment *environment,
                            struct fault *fault)
{
    const char *path = getenv("PATH");
    if (environment_set(environment, "PATH", path && *path ? path : PATH_DEFAULT, fault) < 0 ||
        environment_set(environment, "HOME", user->home, fault) < 0 ||
        environment_set(environment, "USER", user->name, fault) < 0 ||
        environment_set(environment, "LOGNAME", user->name, fault) < 0 ||
        environment_merge(environment, &agent->environment, fault) < 0 ||
        environment_set(environment, "E2B_SANDBOX", "true", fault) < 0)
        return -1;
    return environment_set_json(environment, start->envs, fault);
}

static char **make_argv(const struct start *start)
{
    size_t count = json_array_size(start->args);
    char **argv = xcalloc(count + 2, sizeof *argv);
    argv[0] = (char *)start->command;
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = (char *)json_string_value(json_array_get(start->args, i));
    return argv;
}

static json_t *make_config(const struct start *start, const char *cwd)
{
    json_t *config = json_pack("{s:s}", "cmd", start->command);
    if (start->args)
        json_object_set(config, "args", (json_t *)start->args);
    if (start->envs)
        json_object_set(config, "envs", (json_t *)start->envs);
    if (str_is_utf8(cwd, strlen(cwd)))
        json_object_set_new(config, "cwd", json_string(cwd));
    return config;
}

static int launch(struct request *request, const struct start *start, struct process **process,
                  struct fault *fault)
{
    user_auto user = {.name = NULL};
    environment_auto environment = {NULL, 0, 0};
    autofree char *cwd = NULL;
    if (rpc_user(request, &user, fault) < 0 || paths_resolve(start->cwd, &user, &cwd, fault) < 0 ||
        make_environment(request->agent, &user, start, &environment, fault) < 0)
        return -1;
    autofree char **argv = make_argv(start);
    const struct process_spec spec = {
        .argv = argv,
        .cwd = cwd,
        .environment = &environment,
        .user = &user,
        .with_stdin = start->with_stdin,
        .with_pty = start->with_pty,
        .cols = (unsigned short)start->cols,
        .rows = (unsigned short)start->rows,
    };
    return process_start(request->agent, &spec, make_config(start, cwd),
                         *start->tag ? start->tag : NULL, process, fault);
}

static int start_process(struct request *request, const json_t *message, struct fault *fault)
{
    struct start start = {.command = NULL};
    struct process *process;
    struct stream *stream;
    int64_t ignored_ms;
    if (rpc_timeout_ms(request, &ignored_ms, fault) < 0 ||
        read_request(message, &start, fault) < 0 || launch(request, &start, &process, fault) < 0)
        return -1;
    if (stream_open(request, &process_stream_events, NULL, &stream, fault) < 0) {
        struct fault ignored;
        process_signal(process, SIGKILL, &ignored);
        return -1;
    }
    process_watch(process, stream, true);
    return 0;
}

const struct rpc process_rpc_start = {.stream = start_process};
