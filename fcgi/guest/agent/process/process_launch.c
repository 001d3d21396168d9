/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/process_launch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/common/paths.h"
#include "base/guest_limits.h"
#include "base/mem.h"
#include "base/str.h"

#define ARGS_MAX     4096

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

int process_call_check(const struct process_call *call, struct rpc_error *error)
{
    if (!*call->command)
        return rpc_error_set_field(error, "/cmd", "cmd is missing");
    if (strlen(call->command) > PATH_LENGTH_MAX)
        return rpc_error_set_field(error, "/cmd",
                                   "cmd names a program, and has at most %d bytes: pass a longer "
                                   "text in args or on standard input",
                                   PATH_LENGTH_MAX);
    if (json_array_size(call->args) > ARGS_MAX)
        return rpc_error_set_field(error, "/args", "more than %d args", ARGS_MAX);
    for (size_t i = 0; i < json_array_size(call->args); i++)
        if (!json_is_string(json_array_get(call->args, i)))
            return rpc_error_set_field(error, "/args", "args must be strings");
    return 0;
}

static int make_environment(const struct agent *agent, const struct user *user,
                            const struct process_call *call, struct environment *environment,
                            struct rpc_error *error)
{
    const char *path = getenv("PATH"), *language = getenv("LANG");
    if ((language && environment_set(environment, "LANG", language, error) < 0) ||
        environment_set(environment, "PATH", path && *path ? path : PATH_DEFAULT, error) < 0 ||
        environment_set(environment, "HOME", user->home, error) < 0 ||
        environment_set(environment, "USER", user->name, error) < 0 ||
        environment_set(environment, "LOGNAME", user->name, error) < 0 ||
        environment_set(environment, "container", "lxc", error) < 0 ||
        environment_merge(environment, &agent->environment, error) < 0 ||
        environment_set(environment, "E2B_SANDBOX", "true", error) < 0)
        return -1;
    return environment_set_json(environment, call->envs, error) < 0 ? rpc_error_name(error, "/envs")
                                                                    : 0;
}

static char **make_argv(const struct process_call *call)
{
    size_t count = json_array_size(call->args);
    char **argv = xcalloc(count + 2, sizeof *argv);
    argv[0] = (char *)call->command;
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = (char *)json_string_value(json_array_get(call->args, i));
    return argv;
}

/* The command by which a shell runs a line from a descriptor, as after -c. */
#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)
#define READ_LINE       "eval \"$(cat <&" TEXT(PROCESS_LINE_FD) ")\" " TEXT(PROCESS_LINE_FD) "<&-"

static bool is_shell(const char *command)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "ash"};
    const char *slash = strrchr(command, '/');
    for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
        if (str_equal(slash ? slash + 1 : command, shells[i]))
            return true;
    return false;
}

/* The line of a shell (`-c LINE`, also `-lc LINE`) that is too long for an argument, which is
 * replaced; NULL: no such line. */
static const char *take_long_line(char **argv)
{
    size_t at = 1;
    if (!is_shell(argv[0]))
        return NULL;
    while (argv[at] && argv[at][0] == '-' && !str_ends_with(argv[at], "c"))
        at++;
    if (!argv[at] || argv[at][0] != '-' || argv[at][1] == '-' || !argv[at + 1] ||
        strlen(argv[at + 1]) <= GUEST_ARGUMENT_BYTES_MAX)
        return NULL;
    const char *line = argv[at + 1];
    argv[at + 1] = (char *)READ_LINE;
    return line;
}

static json_t *make_config(const struct process_call *call, const char *cwd)
{
    json_t *config = json_pack("{s:s}", "cmd", call->command);
    if (call->args)
        json_object_set(config, "args", (json_t *)call->args);
    if (call->envs)
        json_object_set(config, "envs", (json_t *)call->envs);
    if (str_is_utf8(cwd, strlen(cwd)))
        json_object_set_new(config, "cwd", json_string(cwd));
    return config;
}

/* The owner of the sandbox may have removed it. "": the user's home. */
static const char *usual_cwd(const struct agent *agent)
{
    return agent->workdir && access(agent->workdir, X_OK) == 0 ? agent->workdir : "";
}

int process_launch(struct agent *agent, const struct user *user, const struct process_call *call,
                   struct process **process, struct rpc_error *error)
{
    environment_auto environment = {NULL, 0, 0};
    autofree char *cwd = NULL;
    if (paths_resolve(*call->cwd ? call->cwd : usual_cwd(agent), user, &cwd, error) < 0)
        return rpc_error_name(error, "/cwd");
    if (make_environment(agent, user, call, &environment, error) < 0)
        return -1;
    autofree char **argv = make_argv(call);
    const char *line = take_long_line(argv);
    const struct process_spec spec = {
        .argv = argv,
        .line = line,
        .cwd = cwd,
        .or_root = !*call->cwd,
        .environment = &environment,
        .user = user,
        .with_stdin = call->with_stdin,
        .with_pty = call->with_pty,
        .cols = (unsigned short)call->cols,
        .rows = (unsigned short)call->rows,
    };
    return process_start(agent, &spec, make_config(call, cwd),
                         call->tag && *call->tag ? call->tag : NULL, process, error);
}
