/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Services of a sandbox, as requests name them: commands that the agent of the sandbox starts, and
 * starts again (fcgi/guest/agent/service.h). The database does not have them: the agent keeps them
 * on the disk of the sandbox.
 *
 *   {"name": "db", "command": "…", "user": "postgres", "cwd": "/", "envs": {"NAME": "value"},
 *    "restart": "no" | "on-failure" | "always", "stop_signal": "SIGTERM",
 *    "health": {"command": "…", "interval": 30, "timeout": 5}}
 */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "http/schema.h"

#define SERVICES_BYTES_MAX (64 * 1024) /* of a list as JSON */

/* The words of an answer. */
extern const char *const service_restarts[], *const service_states[], *const service_healths[];

/* The list, as a member of a request. */
extern const struct schema_member service_item;

/* Check a list that has passed its schema; NULL: none. field: its JSON pointer. Errors:
 * ERR_INVALID_REQUEST with the field (a name twice, the name of a variable, the size). */
int services_check(const json_t *services, const char *field, struct error **err);

/* Check the names of variables, for services and for sandboxes. Errors: ERR_INVALID_REQUEST with
 * the pointer of the variable. */
int envs_check_names(const json_t *envs, const char *field, struct error **err);
