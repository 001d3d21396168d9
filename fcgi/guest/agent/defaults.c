/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/defaults.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/common/regular_file.h"
#include "agent/common/users.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/mem.h"

#define FILE_MAX (256 * 1024)

static void complain(const char *what, const char *why)
{
    log_warning("cannot read a part of the template's defaults; continuing without it",
                LOG_STR("part", what), LOG_STR("reason", why));
}

static json_t *load(void)
{
    size_t size;
    autofree char *text = xmalloc(FILE_MAX);
    if (!regular_file_read(TEMPLATE_DEFAULTS_FILE, text, FILE_MAX, &size))
        return NULL;
    json_t *json = json_loadb(text, size, 0, NULL);
    if (json_is_object(json))
        return json;
    complain("all", "the file is not a JSON object");
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
    defaults->start_health = json_incref(json_object_get(json, "start_health"));
    defaults->start_stop_signal = json_incref(json_object_get(json, "start_stop_signal"));
    defaults->start_place = json_incref(json_object_get(json, "start_place"));
    defaults->ready_command = text_of(json, "ready_command");
    defaults->services = json_incref(json_object_get(json, "services"));
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
    json_decref(defaults->start_health);
    json_decref(defaults->start_stop_signal);
    json_decref(defaults->start_place);
    free(defaults->ready_command);
    json_decref(defaults->services);
}
