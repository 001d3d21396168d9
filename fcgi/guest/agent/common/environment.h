/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keep a set of environment variables, sorted by name. A later value replaces an earlier one. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "agent/common/rpc_error.h"
#include "base/guest_limits.h"

#define ENVIRONMENT_COUNT_MAX 20480 /* 64 KiB of the shortest, and a process's own */
#define ENVIRONMENT_BYTES_MAX                                          \
    GUEST_ENVIRONMENT_BYTES_MAX /* names, values, '=' and NUL together \
                                 */

struct environment {
    char **entries; /* NULL-terminated "NAME=value", ready for execve(); NULL while empty */
    size_t count;
    size_t bytes;
};

/* Set one variable. After an error, the set is unchanged. Errors: RPC_INVALID_ARGUMENT (the name is
 * empty or contains '=', or the set would be too large). */
int environment_set(struct environment *environment, const char *name, const char *value,
                    struct rpc_error *error);

/* Set all members of a JSON object of strings (NULL and null: none). */
int environment_set_json(struct environment *environment, const json_t *object,
                         struct rpc_error *error);

/* Set all variables of another set. Errors: as environment_set(). */
int environment_merge(struct environment *environment, const struct environment *other,
                      struct rpc_error *error);

/* Empty the set, and overwrite its old contents. */
void environment_wipe(struct environment *environment);

#define environment_auto __attribute__((cleanup(environment_wipe))) struct environment
