/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/defaults.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/common/users.h"
#include "agent/process/process_launch.h"
#include "base/cleanup.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/mem.h"

#define FILE_MAX  (256 * 1024)
#define START_TAG "start_command"

static void complain(const char *what, const char *why)
{
    log_warning("skipping a part of the template's defaults", LOG_STR("part", what),
                LOG_STR("reason", why));
}

static json_t *load(void)
{
    autoclose int fd = open(TEMPLATE_DEFAULTS_FILE, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return NULL;
    autofree char *text = xmalloc(FILE_MAX);
    ssize_t size = read(fd, text, FILE_MAX);
    json_t *json = json_loadb(text, size > 0 ? (size_t)size : 0, 0, NULL);
    if (json_is_object(json))
        return json;
    complain("all", "the file is no object of JSON");
    json_decref(json);
    return NULL;
}

static char *text_of(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text && *text ? xstrdup(text) : NULL;
}

/* All would be refused for a user who is not there. */
static void check_user(struct defaults *defaults)
{
    user_auto user = {.name = NULL};
    struct rpc_error error;
    if (!defaults->user ||
        (strlen(defaults->user) <= USER_NAME_MAX && users_find(defaults->user, &user, &error) == 0))
        return;
    complain("user", "there is no such user");
    free(defaults->user);
    defaults->user = NULL;
}

void defaults_read(struct defaults *defaults)
{
    json_auto_t *json = load();
    struct rpc_error error;
    *defaults = (struct defaults){.user = text_of(json, "user")};
    defaults->workdir = text_of(json, "workdir");
    defaults->start_command = text_of(json, "start_command");
    check_user(defaults);
    if (environment_set_json(&defaults->environment, json_object_get(json, "envs"), &error) < 0)
        complain("envs", error.message);
}

void defaults_deinit(struct defaults *defaults)
{
    environment_wipe(&defaults->environment);
    free(defaults->user);
    free(defaults->workdir);
    free(defaults->start_command);
}

void defaults_start(struct agent *agent, const struct defaults *defaults)
{
    user_auto user = {.name = NULL};
    struct rpc_error error;
    struct process *process;
    if (!defaults->start_command)
        return;
    json_auto_t *args = json_pack("[s, s, s]", "-l", "-c", defaults->start_command);
    struct process_call call = {.cwd = "", .tag = START_TAG, .args = args};
    if (users_find(agent->default_user, &user, &error) < 0) {
        complain("start_command", error.message);
        return;
    }
    call.command = user.shell && *user.shell ? user.shell : "/bin/sh";
    if (process_launch(agent, &user, &call, &process, &error) < 0)
        complain("start_command", error.message);
}
