/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/defaults.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/common/users.h"
#include "agent/process/process.h"
#include "agent/process/process_launch.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/mem.h"

#define FILE_MAX    (256 * 1024)
#define START_TAG   "start_command"
#define OUTPUT_KEPT 4096

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

/* --- how the start command ended --- */

static struct buffer last_output = BUFFER_INIT(OUTPUT_KEPT);

static bool has_room(struct process_follower *follower)
{
    (void)follower;
    return true;
}

static void keep_output(struct process_follower *follower, enum process_output_kind kind,
                        uint64_t offset, const char *data, size_t size)
{
    (void)follower;
    (void)kind;
    (void)offset;
    size_t kept = size < OUTPUT_KEPT ? size : OUTPUT_KEPT;
    if (last_output.size + kept > OUTPUT_KEPT)
        buffer_consume(&last_output, last_output.size + kept - OUTPUT_KEPT);
    buffer_append(&last_output, data + size - kept, kept);
}

static void record_end(struct process_follower *follower, const struct process_end *end)
{
    (void)follower;
    int status = WIFEXITED(end->wait_status) ? WEXITSTATUS(end->wait_status) : -1;
    int fd = open(START_ENDED_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        complain(START_TAG, "its end cannot be recorded");
        return;
    }
    fprintf(file, "%d\n%s", status, buffer_string(&last_output));
    fclose(file);
    buffer_clear(&last_output);
}

static void follow(struct process *process)
{
    static const struct process_follower_events events = {
        .has_room = has_room, .output = keep_output, .ended = record_end};
    static struct process_follower follower = {.events = &events};
    if (!follower.process)
        process_follow(process, &follower);
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
    unlink(START_ENDED_FILE);
    if (process_launch(agent, &user, &call, &process, &error) < 0)
        complain("start_command", error.message);
    else
        follow(process);
}
