/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/service.h"

#include <string.h>

#include "base/guest_limits.h"
#include "base/mem.h"
#include "base/str.h"

#define COMMAND_MAX 16384
#define USER_MAX    64
#define PATH_MOST   4095
#define VALUE_MAX   32768

const char *const service_restarts[] = {"no", "on-failure", "always", NULL};
static const char *const service_stop_signals[] = {
    "SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGWINCH", NULL};
const char *const service_states[] = {"running", "stopping", "waiting", "ended", "failed", NULL};
const char *const service_healths[] = {"starting", "healthy", "unhealthy", NULL};

static int check_name(const json_t *value, const char *pointer, struct error **err)
{
    if (str_is_name(json_string_value(value), SERVICE_NAME_MAX))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                           "The name of a service is 1 to %d letters, digits, hyphens and "
                           "underscores, beginning with a letter or a digit.",
                           SERVICE_NAME_MAX);
}

static const struct schema_member env_item = {.type = SCHEMA_STRING, .max = VALUE_MAX};
static const struct schema_member health_members[] = {
    {.name = "command", .type = SCHEMA_STRING, .required = true, .min = 1, .max = COMMAND_MAX},
    {.name = "interval", .type = SCHEMA_INTEGER, .min = 1, .max = SERVICE_INTERVAL_MAX_S},
    {.name = "timeout", .type = SCHEMA_INTEGER, .min = 1, .max = SERVICE_TIMEOUT_MAX_S},
    {.name = NULL},
};
static const struct schema_member members[] = {
    {.name = "name", .type = SCHEMA_STRING, .required = true, .check = check_name},
    {.name = "command", .type = SCHEMA_STRING, .required = true, .min = 1, .max = COMMAND_MAX},
    {.name = "user", .type = SCHEMA_STRING, .min = 1, .max = USER_MAX},
    {.name = "cwd", .type = SCHEMA_STRING, .min = 1, .max = PATH_MOST},
    {.name = "envs", .type = SCHEMA_MAP, .item = &env_item},
    {.name = "restart", .type = SCHEMA_STRING, .choices = service_restarts},
    {.name = "stop_signal", .type = SCHEMA_STRING, .choices = service_stop_signals},
    {.name = "health", .type = SCHEMA_OBJECT, .members = health_members},
    {.name = "cmd", .hint = "write the command line of a service as \"command\""},
    {.name = "directory", .hint = "write the folder of a service as \"cwd\""},
    {.name = NULL},
};
const struct schema_member service_item = {.type = SCHEMA_OBJECT, .members = members};

/* Shells export names with other characters than those of their variables, for example for
 * functions, and clients pass on whole environments. */
static bool env_name_is_valid(const char *name)
{
    size_t length = 0;
    while ((unsigned char)name[length] > ' ' && name[length] != '=' && name[length] != 0x7f)
        length++;
    return length && !name[length];
}

int envs_check_names(const json_t *envs, const char *field, struct error **err)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)envs, name, value) {
        if (env_name_is_valid(name))
            continue;
        autofree char *pointer = schema_pointer(field, name);
        return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                               "The name of an environment variable has no space, no control "
                               "character and no \"=\", and is not empty.");
    }
    return 0;
}

static const char *name_at(const json_t *services, size_t index)
{
    return json_string_value(json_object_get(json_array_get(services, index), "name"));
}

static int check_one(const json_t *services, size_t index, const char *field, struct error **err)
{
    autofree char *name = xasprintf("%s/%zu/name", field, index);
    autofree char *envs = xasprintf("%s/%zu/envs", field, index);
    for (size_t i = 0; i < index; i++)
        if (str_equal(name_at(services, i), name_at(services, index)))
            return error_set_field(err, ERR_INVALID_REQUEST, name, "Two services have the name %s.",
                                   name_at(services, index));
    return envs_check_names(json_object_get(json_array_get(services, index), "envs"), envs, err);
}

int services_check(const json_t *services, const char *field, struct error **err)
{
    for (size_t i = 0; i < json_array_size(services); i++)
        if (check_one(services, i, field, err) < 0)
            return -1;
    if (!services || json_dumpb(services, NULL, 0, JSON_COMPACT) <= SERVICES_BYTES_MAX)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, field,
                           "The services together are larger than %d KiB.",
                           SERVICES_BYTES_MAX / 1024);
}
