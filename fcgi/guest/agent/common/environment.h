/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of environment variables, sorted by name; later values win. */
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

/* Set one variable. RPC_INVALID_ARGUMENT: the name is empty or contains '=', or the set would
 * pass its bounds; the set is unchanged then. */
int environment_set(struct environment *environment, const char *name, const char *value,
                    struct rpc_error *error);

/* Set all members of a JSON object of strings (NULL and null: none). */
int environment_set_json(struct environment *environment, const json_t *object,
                         struct rpc_error *error);

/* Set everything that is in other. */
int environment_merge(struct environment *environment, const struct environment *other,
                      struct rpc_error *error);

/* Empty it, and overwrite its old contents. */
void environment_wipe(struct environment *environment);

#define environment_auto __attribute__((cleanup(environment_wipe))) struct environment
