/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/environment.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

/* Compare the name of an entry with a name: the order of "NAME=" as strings. */
static int compare(const char *entry, const char *name, size_t length)
{
    int difference = strncmp(entry, name, length);
    return difference ? difference : (unsigned char)entry[length] - '=';
}

/* Find a name by halves, because an environment may have thousands of variables and each process
   gets one. The place where it is, or where it belongs. */
static size_t find(const struct environment *environment, const char *name, size_t length,
                   bool *is_there)
{
    size_t begin = 0, end = environment->count;
    *is_there = false;
    while (begin < end && !*is_there) {
        size_t middle = begin + (end - begin) / 2;
        int difference = compare(environment->entries[middle], name, length);
        if (difference < 0)
            begin = middle + 1;
        else
            end = middle;
        *is_there = !difference;
    }
    return end;
}

static void insert(struct environment *environment, size_t at, char *entry)
{
    size_t behind = environment->count - at;
    environment->entries =
        xreallocarray(environment->entries, environment->count + 2, sizeof(char *));
    memmove(environment->entries + at + 1, environment->entries + at, behind * sizeof(char *));
    environment->entries[at] = entry;
    environment->entries[++environment->count] = NULL;
}

int environment_set(struct environment *environment, const char *name, const char *value,
                    struct rpc_error *error)
{
    size_t length = strlen(name);
    if (!length || strchr(name, '='))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                             "'%s' is not a valid name of an environment variable", name);
    bool is_there;
    size_t at = find(environment, name, length, &is_there);
    size_t old_size = is_there ? strlen(environment->entries[at]) + 1 : 0;
    size_t size = length + strlen(value) + 2;
    if (size - 1 > GUEST_ARGUMENT_BYTES_MAX)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                             "the environment variable %.64s has %zu bytes, and can have %d: write "
                             "the value to a file and pass its path",
                             name, size - 1, GUEST_ARGUMENT_BYTES_MAX);
    if (environment->bytes - old_size + size > ENVIRONMENT_BYTES_MAX ||
        (!old_size && environment->count == ENVIRONMENT_COUNT_MAX))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                             "the environment has more than %d variables or %d KiB: write large "
                             "values to files and pass their paths",
                             ENVIRONMENT_COUNT_MAX, ENVIRONMENT_BYTES_MAX / 1024);
    char *entry = xasprintf("%s=%s", name, value);
    if (is_there) {
        mem_wipe_free(environment->entries[at]);
        environment->entries[at] = entry;
    } else {
        insert(environment, at, entry);
    }
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

void environment_wipe(struct environment *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        mem_wipe_free(environment->entries[i]);
    free(environment->entries);
    *environment = (struct environment){NULL, 0, 0};
}
