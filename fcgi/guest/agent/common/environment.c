/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/environment.h"

#include <string.h>

#include "base/mem.h"

static size_t find(const struct environment *environment, const char *name, size_t length)
{
    size_t i = 0;
    for (; i < environment->count; i++)
        if (!strncmp(environment->entries[i], name, length) &&
            environment->entries[i][length] == '=')
            break;
    return i;
}

int environment_set(struct environment *environment, const char *name, const char *value,
                    struct rpc_error *error)
{
    size_t length = strlen(name);
    if (!length || strchr(name, '='))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                             "'%s' cannot be the name of an environment variable", name);
    size_t at = find(environment, name, length);
    size_t old_size = at < environment->count ? strlen(environment->entries[at]) + 1 : 0;
    size_t size = length + strlen(value) + 2;
    if (size - 1 > GUEST_ARGUMENT_BYTES_MAX)
        return rpc_error_set(
            error, RPC_INVALID_ARGUMENT,
            "the environment variable %.64s has %zu bytes, and a variable may have "
            "%d: write the value to a file and pass its path",
            name, size - 1, GUEST_ARGUMENT_BYTES_MAX);
    if (environment->bytes - old_size + size > ENVIRONMENT_BYTES_MAX ||
        (!old_size && environment->count == ENVIRONMENT_COUNT_MAX))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                             "the environment is larger than %d variables or %d KiB: write large "
                             "values to files and pass their paths",
                             ENVIRONMENT_COUNT_MAX, ENVIRONMENT_BYTES_MAX / 1024);
    if (old_size) {
        mem_wipe_free(environment->entries[at]);
    } else {
        environment->entries =
            xreallocarray(environment->entries, environment->count + 2, sizeof(char *));
        environment->entries[++environment->count] = NULL;
    }
    environment->entries[at] = xasprintf("%s=%s", name, value);
    environment->bytes += size - old_size;
    return 0;
}

int environment_set_json(struct environment *environment, const json_t *object,
                         struct rpc_error *error)
{
    if (!object || json_is_null(object))
        return 0;
    if (!json_is_object(object))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "envs must be an object");
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)object, name, value) {
        if (!json_is_string(value))
            return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the value of '%s' must be a string",
                                 name);
        if (environment_set(environment, name, json_string_value(value), error) < 0)
            return -1;
    }
    return 0;
}

int environment_merge(struct environment *environment, const struct environment *other,
                      struct rpc_error *error)
{
    for (size_t i = 0; i < other->count; i++) {
        size_t length = strcspn(other->entries[i], "=");
        autofree char *name = xstrndup(other->entries[i], length);
        if (environment_set(environment, name, other->entries[i] + length + 1, error) < 0)
            return -1;
    }
    return 0;
}

const char *environment_get(const struct environment *environment, const char *name)
{
    size_t length = strlen(name);
    size_t at = find(environment, name, length);
    return at < environment->count ? environment->entries[at] + length + 1 : NULL;
}

void environment_wipe(struct environment *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        mem_wipe_free(environment->entries[i]);
    free(environment->entries);
    *environment = (struct environment){NULL, 0, 0};
}
